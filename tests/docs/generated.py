"""What a page has of the code, between `<!-- name -->` and `<!-- end -->`."""

import re

_PART = re.compile(r"(?<=<!-- )(?P<name>[a-z -]+)( -->\n)(?:.*?)(<!-- end -->)", re.DOTALL)


def names(page):
    """The names of a page's parts."""
    return {found["name"] for found in _PART.finditer(page)}


def with_parts(page, parts):
    """The page with its parts: name -> text."""
    return _PART.sub(lambda found: f"{found['name']}{found[2]}\n{parts[found['name']]}\n{found[3]}", page)


def table(heads, rows):
    """Without a column that is empty."""
    rows = [*rows]
    full = [head for head, *cells in zip(heads, *rows, strict=True) if any(cells)]
    rows = [[cell for head, cell in zip(heads, row, strict=True) if head in full] for row in rows]
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in (full, *rows)]
    return "\n".join((lines[0], f"|{'---|' * len(full)}", *lines[1:], ""))

r"""A one-sentence summary of a tool's description, enough to choose the tool by. Source: 000 section 3.1.

"Get one issue.\n\nArgs:\n    number: of the issue"   ->  "Get one issue."
no description, tool `get_user_profile`               ->  "Get user profile."
"""

from __future__ import annotations

import re

MAX_SUMMARY = 200
"""Longest summary of a tool in a list without its description, in code points: a long sentence."""


_MARKUP = re.compile(r"</?[A-Za-z][\w-]*>|^[ \t]*#+[ \t]+|\*\*|`{3,}", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SECTION = re.compile(
    r"^[ \t]*(args|arguments|parameters?|params|inputs?|returns?|outputs?|raises|examples?|usage|notes?)\b[^.\n]*:",
    re.IGNORECASE | re.MULTILINE,
)
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_LIST = re.compile(r"^[ \t]*([-*•]|\d+[.)])[ \t]+", re.MULTILINE)
_END = re.compile(r"[.!?]['\")\]]*(?=\s+[^\sa-z]|\s*$)|[\u3002\uff01\uff1f]")
_ABBREVIATION = re.compile(r"(\b(?i:e\.g|i\.e|etc|vs|cf|approx|incl|no|mr|ms|dr|st|inc|ltd)|\b[A-Z])\.$")
# "approx.", in code points.
_LONGEST_ABBREVIATION = 7
# The white space of a sentence is single spaces.
_LEADS = r"(?:such as|for example|for instance|e\.g\.)(?=\W)"
_BEFORE_LEADS = " ,(\u2014-"
_BRACKETS = re.compile(rf" ?\({_LEADS}[^()]*\)", re.IGNORECASE)
_EXAMPLES = re.compile(rf"(?<=[{_BEFORE_LEADS}]){_LEADS}", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

# In code points. A shorter sentence, such as "Search.", gets the next one too; none is cut to less.
_SHORT = 12

# Only so many code points of a description are searched.
_READ = 20 * MAX_SUMMARY


def summary(text: str | None, name: str) -> str:
    """The first sentence on one line, else the words of the name; at most `MAX_SUMMARY` code points."""
    sentence = _without_examples(_sentence(_prose((text or "")[:_READ]))) or _words(name)
    if len(sentence) <= MAX_SUMMARY:
        return sentence
    cut = sentence[: MAX_SUMMARY - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:") + "…"


def _prose(text: str) -> str:
    plain = _MARKUP.sub("", _CONTROL.sub("", text)).strip()
    for end in (_SECTION, _LIST):
        if (found := end.search(plain)) and found.start() > 0:
            plain = plain[: found.start()]
    return " ".join(_PARAGRAPH_END.split(plain.strip(), maxsplit=1)[0].split())


def _sentence(text: str) -> str:
    for found in _END.finditer(text):
        end = found.end()
        if end >= _SHORT and not _ABBREVIATION.search(text, end - _LONGEST_ABBREVIATION, end):
            return text[:end]
    return text.removesuffix(":")


def _without_examples(sentence: str) -> str:
    rest = _BRACKETS.sub("", sentence)
    found = _EXAMPLES.search(rest, _SHORT + 1)
    return rest if found is None else f"{rest[:_SHORT]}{rest[_SHORT : found.start()].rstrip(_BEFORE_LEADS)}."


def _words(name: str) -> str:
    words = " ".join(word.lower() for word in _WORD.findall(name))
    return f"{words.capitalize()}." if words else name

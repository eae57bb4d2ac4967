"""`budgets.toml`: no figure of the house is over its row."""

import tomllib
from pathlib import Path

import pytest

from benchmarks import path
from conftest import EVERYDAY
from docs.pages import DOCS

SOURCE = Path(__file__).parents[1] / "src" / "louver"
BUDGETS = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text("utf-8"))
ROWS = {name: row for name, row in BUDGETS.items() if name != "path"} | BUDGETS["path"]


def modules():
    return {file.relative_to(SOURCE).as_posix(): file for file in SOURCE.rglob("*.py")}


def lines(files):
    return sum(file.read_bytes().count(b"\n") for file in files)


def test_every_row_has_a_reason():
    """HOUSE.md, "Ratchets"."""
    assert [name for name, row in ROWS.items() if not row.get("reason")] == []
    assert sorted(BUDGETS["path"]) == sorted(path.ROWS)


@pytest.mark.whole
@pytest.mark.parametrize("pairing", path.PAIRINGS)
def test_the_path_of_a_call_is_no_longer_than_its_row(pairing):
    """HOUSE.md, "Ratchets": counted, never timed."""
    over = {}
    for row, entries in path.traced_pairing(pairing).items():
        length, budget = path.measured(entries), BUDGETS["path"][row]
        found = {"files": length.files, "hops": length.hops, "frames": length.deepest}
        over |= {(row, name): count for name, count in found.items() if count > budget[name]}
    assert over == {}


def test_the_source_has_no_more_lines_than_its_row():
    """HOUSE.md, "Ratchets"."""
    budget, found = BUDGETS["lines"], modules()
    assert [name for name in budget["outside"] if not (SOURCE / name).exists()] == [], "these are not there"
    whole = lines(found.values())
    kernel = lines(file for module, file in found.items() if not module.startswith(tuple(budget["outside"])))
    assert (whole <= budget["whole"], kernel <= budget["kernel"]) == (True, True), (
        f"{whole:,}, of the kernel {kernel:,}"
    )


def test_no_folder_has_more_modules_than_its_row():
    """HOUSE.md, "Ratchets": a folder of more rooms than one can know wants floors."""
    budget = BUDGETS["modules"]
    folders = [Path(module).parent.as_posix() for module in modules()]
    found = {folder: folders.count(folder) for folder in dict.fromkeys(folders)}
    wide = {folder: count for folder, count in found.items() if count > budget["wider"].get(folder, budget["folder"])}
    assert wide == {}


def test_a_plain_gateway_imports_no_more_modules_than_its_row():
    """HOUSE.md, "Ratchets": what is off is not there."""
    count = len(path.served_modules())
    assert count <= BUDGETS["modules"]["served"]


def test_the_everyday_run_has_no_more_tests_than_its_row(request):
    """HOUSE.md, "Test power"."""
    assert 0 < request.config.stash[EVERYDAY] <= BUDGETS["tests"]["everyday"]


def test_the_pages_have_no_more_words_than_their_row():
    """HOUSE.md, "Ratchets"."""
    words = sum(len(page.read_text("utf-8").split()) for page in DOCS.rglob("*.md"))
    assert words <= BUDGETS["docs"]["words"]

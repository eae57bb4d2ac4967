"""The power of the tests is measured by faults that are faults."""

from benchmarks import mutants

SOURCE = """
LIMIT = 3

def over(count, strict=False):
    return count > 2 and not strict
"""


def test_each_fault_is_one_change_in_a_function():
    """*Ours*: HOUSE.md, "Test power"."""
    faults = {mutants.mutated(SOURCE, number) for number in range(4)}
    assert {fault.partition("return ")[2].strip() for fault in faults} == {
        "count > 2 or not strict",
        "count >= 2 and (not strict)",
        "count > 3 and (not strict)",
        "count > 2 and +strict",
    }
    assert all("LIMIT = 3" in fault for fault in faults)


def test_the_mutants_of_a_folder_are_the_same_each_time_and_have_tests():
    """*Ours*: else two runs could not be compared."""
    assert mutants.chosen_of("core/paths") == mutants.chosen_of("core/paths")
    assert len(mutants.chosen_of("core/paths")) == mutants.MUTANTS
    assert "tests/core/paths/test_path.py" in mutants.tests_of("core/paths")
    assert mutants.tests_of("cli/doctor") == mutants.tests_of("cli")
    assert not any("cli/commands/" in file for file in mutants.tests_of("cli"))

"""The command `louver-conformance`."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from conformance.suite import HONEST
from fixtures.command import louver
from fixtures.forking import PYTHON
from louver_conformance.command import main
from louver_conformance.fixture import Fixture

BROKEN = Path(__file__).parents[2] / "conformance" / "broken"
FIXTURE = ["--fixture", str(BROKEN / "fixture.json")]
QUICK = ["--era", "2025-11-25", "--group", "hint", "--group", "projection", *FIXTURE]


def conformance(*arguments):
    return louver(*arguments, main=main)


def target(name):
    return ["--", PYTHON, str(BROKEN / "server.py"), name]


def test_who_passes_gets_a_table_and_status_0():
    """Ours."""
    done = conformance(*QUICK, *target("Honest"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "protocol 2025-11-25" in done.stdout
    assert "include-keeps-named" in done.stdout
    assert "fail" not in done.stdout


def test_who_fails_is_told_the_sentence_and_gets_status_1():
    """Ours: and no value of what the tool answered."""
    done = conformance(*QUICK, *target("ExcludeAdds"))
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "fail 2025-11-25 exclude-leaves-out" in told
    assert "the answer has 'left_out', which should not be there (004-features-exclude)" in told
    assert "example.com" not in done.stdout


def test_what_is_meant_as_a_url_is_no_command():
    """Ours: a port may be too large."""
    done = conformance("--url", "http://127.0.0.1:99999/mcp", *QUICK)
    assert (done.returncode, done.stdout) == (2, "")
    assert "with a host and a port up to 65535" in done.stderr


def test_the_report_as_json_and_as_junit(tmp_path):
    """Ours: both say the same."""
    junit = tmp_path / "report.xml"
    done = conformance(*QUICK, "--json", "--junit", str(junit), *target("ExcludeAdds"))
    report = json.loads(done.stdout)
    assert report["passed"] is False
    assert report["counts"]["fail"] == 1
    (failed,) = [outcome for outcome in report["outcomes"] if outcome["status"] == "fail"]
    assert (failed["check"], failed["era"], failed["level"]) == ("exclude-leaves-out", "2025-11-25", "MUST")
    assert failed["requirements"] == ["004-features-exclude"]
    (suite,) = Xml.fromstring(junit.read_bytes())
    assert suite.attrib["tests"] == str(len(report["outcomes"]))
    assert suite.attrib["failures"] == "1"
    (case,) = [case for case in suite if case.find("failure") is not None]
    assert case.attrib["name"] == "exclude-leaves-out"
    assert case.attrib["classname"] == "2025-11-25.projection"
    skipped = [case.attrib["name"] for case in suite if case.find("skipped") is not None]
    assert "exclude-at-any-depth" in skipped


def test_a_baseline_of_known_failures(tmp_path):
    """Ours: what is known does not count, and what is mended is told."""
    lines = tmp_path / "known.txt"
    lines.write_text("2025-11-25 exclude-leaves-out # known\n2025-11-25 include-keeps-named\n")
    done = conformance(*QUICK, "--baseline", str(lines), *target("ExcludeAdds"))
    assert done.returncode == 0
    assert "known" in done.stdout
    assert done.stderr == "louver-conformance: the baseline lists '2025-11-25 include-keeps-named', which passes\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name the server: -- COMMAND, or --url URL"),
        (["--url", "http://a", "--", "true"], "name the server: -- COMMAND, or --url URL"),
        (["--url", "http://a", "--header", "x"], "--header takes NAME=VALUE"),
        (["--url", "http://a", "--header", "x=\n"], "--header x: expected printable ASCII, in one line"),
        (
            ["--url", "http://a", "--token", "s3cret"],
            "--token takes a file that holds only the token, and this one cannot",
        ),
        (["--url", "http://a", "--token", __file__], "and that only its owner can read: chmod 600"),
        (["--", "no-such-command"], "there is no such command: 'no-such-command' is not on the PATH"),
        (["--era", "2025-11-26"], "there is no '2025-11-26'; did you mean '2025-11-25'?"),
        (["--group", "shema"], "there is no 'shema'; did you mean 'schema'?"),
        (["--fixture", "nothing.json", "--", "true"], "nothing.json cannot be read"),
        (["--baseline", "nothing.txt", "--", "true"], "nothing.txt cannot be read"),
        (["--timeout", "0", "--", "true"], "'0' is no number of seconds up to 3600"),
        (["--make-fixture", __file__, "--", *target("Honest")[1:]], "is there already"),
        (["--junit", "no/such/folder/report.xml", "--", "true"], "cannot be written"),
    ],
)
def test_a_wrong_call_ends_with_status_2(arguments, said):
    """Ours."""
    done = conformance(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "s3cret" not in done.stderr


def test_what_is_not_there_fails_to_connect():
    """Ours: both revisions were tried."""
    done = conformance("--", "true")
    assert done.returncode == 1
    assert " ".join(done.stdout.split()).count("the target's process has ended") == 4


def test_who_takes_too_long_is_not_judged():
    """Issue 60: no sentence is broken because a machine is busy."""
    done = conformance("--timeout", "0.000001", *QUICK, *target("Honest"))
    assert done.returncode == 3
    assert "fail" not in done.stdout
    assert "give it more by --timeout SECONDS" in done.stderr


def test_a_fixture_to_begin_with(tmp_path):
    """Issue 60: for servers without `readOnlyHint`; what may have effects is not called before somebody says so."""
    careless = "{**super().listed(name), 'annotations': {'readOnlyHint': name == 'get_person'}}"
    code = f"{HONEST} def listed(self, name): return {careless}\nserve(Server())"
    path = tmp_path / "fixture.json"
    done = conformance("--make-fixture", str(path), "--", PYTHON, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    called = {"get_person": {"id": 1}, "$not_called": {"list_orders": {}, "say_hello": {}, "runs": {}}}
    assert json.loads(path.read_text()) == called
    assert Fixture.read(path).arguments == {"get_person": [{"id": 1}]}

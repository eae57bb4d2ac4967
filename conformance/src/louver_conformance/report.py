"""Reports as JSON, and as JUnit XML: one suite a protocol revision, one case a check."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

if TYPE_CHECKING:
    from louver_conformance.run import Outcome, Report

_NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(report: Report) -> dict[str, Any]:
    statuses = ("pass", "fail", "warn", "known", "not offered", "not tried")
    return {
        "passed": report.is_passed,
        "decided": report.is_decided,
        "counts": {status: report.count(status) for status in statuses},
        "unspoken": report.unsupported,
        "fixed": list(report.fixed),
        "outcomes": [_outcome(outcome) for outcome in report.outcomes],
    }


def as_junit(report: Report) -> bytes:
    root = Xml.Element("testsuites", name="louver conformance")
    for revision, outcomes in groupby(report.outcomes, key=lambda outcome: outcome.revision):
        _suite(root, revision, list(outcomes))
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _suite(root: Xml.Element, revision: str, outcomes: list[Outcome]) -> None:
    failures = sum(outcome.status == "fail" for outcome in outcomes)
    skipped = sum(outcome.status in ("known", "not offered", "not tried") for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "skipped": str(skipped)}
    suite = Xml.SubElement(root, "testsuite", {"name": revision, **counts})
    for outcome in outcomes:
        case = Xml.SubElement(suite, "testcase", classname=f"{revision}.{outcome.check.group}", name=outcome.check.id)
        detail = _NOT_OF_XML.sub("�", outcome.detail)
        if outcome.status == "fail":
            Xml.SubElement(case, "failure", message=detail).text = " ".join(outcome.check.requirements)
        elif outcome.status == "warn":
            Xml.SubElement(case, "system-out").text = f"warning: {detail}"
        elif outcome.status != "pass":
            Xml.SubElement(case, "skipped", message=f"{outcome.status}: {detail}")


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "check": outcome.check.id,
        "group": outcome.check.group,
        "era": outcome.revision,
        "level": outcome.check.level,
        "status": outcome.status,
        "detail": outcome.detail,
        "says": outcome.check.says,
        "requirements": list(outcome.check.requirements),
    }

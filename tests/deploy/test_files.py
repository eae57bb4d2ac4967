"""The files of deploy/ are well-formed, and say what the documentation promises of them."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from docs.pages import ROOT

DEPLOY = ROOT / "deploy"
METRICS = (ROOT / "src" / "louver" / "team" / "metrics.py").read_text("utf-8")


def documents():
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))


def test_the_pods_are_replicas_without_affinity_and_without_rights():
    """Issue 43: two replicas and no affinity, non-root, a read-only root, health checks."""
    [deployment] = [each for each in documents() if each["kind"] == "Deployment"]
    [service] = [each for each in documents() if each["kind"] == "Service"]
    assert deployment["spec"]["replicas"] == 2
    assert "sessionAffinity" not in service["spec"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["args"][container["args"].index("--allowed-host") + 1] == service["metadata"]["name"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_the_replicas_of_compose_differ_in_their_url_alone():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    first, second = services["louver-1"], services["louver-2"]
    assert first["read_only"] is second["read_only"] is True
    assert first["environment"].pop("LOUVER_REPLICA") == "http://louver-1:8080/mcp"
    assert second["environment"].pop("LOUVER_REPLICA") == "http://louver-2:8080/mcp"
    assert {**first, "hostname": ""} == {**second, "hostname": ""}
    # The token of clients is in it, if there is no `auth`.
    assert "state:/state" in first["volumes"]


def test_the_proxy_sends_no_call_twice():
    """A replica that dies may have run a call: with `non_idempotent` another one ran it again."""
    [retried] = re.findall(r"^\s*proxy_next_upstream (.*);", (DEPLOY / "nginx.conf").read_text("utf-8"), re.MULTILINE)
    assert retried == "error"


def test_the_image_runs_as_nobody_in_particular_and_knows_its_health():
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    assert "USER 10001:10001" in lines
    assert any(line.startswith("HEALTHCHECK") for line in lines)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there")
def test_the_unit_is_accepted(tmp_path):
    unit = tmp_path / "louver.service"
    text = (DEPLOY / "louver.service").read_text("utf-8")
    unit.write_text(text.replace("/opt/louver/bin/louver", shutil.which("true") or "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_board_asks_for_metrics_that_there_are():
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    instruments = {name.replace(".", "_") for name in re.findall(r'create_\w+\(\s*"([\w.]+)"', METRICS)}
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"(?:mcp|louver)_[a-z_]+(?=\{|\[)", target["expr"])
    }
    assert asked
    suffix = r"(_seconds|_bytes)?(_count|_bucket|_sum|_total)?$"
    assert {name for name in asked if re.sub(suffix, "", name) not in instruments} == set()

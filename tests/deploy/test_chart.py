"""The Helm chart, rendered by Helm's own library, and valid for Kubernetes by its published schemas."""

from __future__ import annotations

import json
import os

import pytest
import yaml

from docs.pages import ROOT

CHART = ROOT / "deploy" / "helm" / "louver"
CONFIG = json.dumps({"mcpServers": {"tracker": {"url": "http://tracker/mcp"}}, "louver": {"keys": ["a" * 32]}})
VERSIONS = ("1.28", "1.37")
EVERYTHING = {
    "autoscaling": {"enabled": True},
    "auditStorage": "1Gi",
    "allowedHosts": ["mcp.example"],
    "env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
    "files": {"users.policy.json": "{}"},
    "metrics": {"podMonitor": True, "rules": True, "dashboard": True},
}


@pytest.fixture(scope="module")
def helm():
    if "CI" not in os.environ:
        pytest.importorskip("helm_python", reason="needs the group 'deploy': uv sync --group deploy")
    import helm_python.chart

    return helm_python.chart


def rendered(helm, **values):
    with helm.Chart.load(CHART) as chart:
        manifests = chart.render({"config": CONFIG, **values}, name="gate")
    found = [each for text in manifests.values() for each in yaml.safe_load_all(text) if each]
    return {each["kind"] + each["metadata"]["name"].removeprefix("gate"): each for each in found}


def pod_of(replicas):
    pod = replicas["spec"]["template"]
    [container] = pod["spec"]["containers"]
    return pod, container


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ({}, {"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"}),
        (
            EVERYTHING,
            {
                *("ConfigMap", "StatefulSet", "NetworkPolicy", "PodDisruptionBudget", "Service"),
                *("HorizontalPodAutoscaler", "PodMonitor", "PrometheusRule", "ConfigMap-dashboard"),
            },
        ),
    ],
    ids=["default", "everything"],
)
def test_what_is_rendered_is_valid(helm, values, kinds):
    from kubernetes_validate import validate

    found = rendered(helm, **values)
    assert found.keys() == kinds
    for version in VERSIONS:
        for each in found.values():
            # The schemas of operators are not published with these.
            if not each["apiVersion"].startswith("monitoring.coreos.com/"):
                validate(each, version, strict=True)
    said = helm.lint(CHART, {"config": CONFIG, **values}, strict=True)
    assert [each for each in said["messages"] if each["severity"] > 1] == []


def test_pods_are_replicas_without_affinity_and_without_rights(helm):
    """Issue 43: two replicas and no affinity, non-root, a read-only root, health checks."""
    found = rendered(helm)
    pod, container = pod_of(found["Deployment"])
    service = found["Service"]["spec"]
    assert found["Deployment"]["spec"]["replicas"] == 2
    assert "sessionAffinity" not in service
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    names = ("gate", "gate.default", "gate.default.svc", "gate.default.svc.cluster.local")
    assert [each for each in container["args"] if "allowed" in each] == [f"--allowed-host={name}" for name in names]


def test_policies_and_variables_reach_the_pods(helm):
    """Ours: an operator had no place for them."""
    found = rendered(helm, **EVERYTHING)
    pod, container = pod_of(found["StatefulSet"])
    assert found["ConfigMap"]["data"] == {"mcp.json": CONFIG, "users.policy.json": "{}"}
    assert EVERYTHING["env"][0] in container["env"]
    other, _ = pod_of(rendered(helm, **{**EVERYTHING, "files": {"users.policy.json": "[]"}})["StatefulSet"])
    assert pod["metadata"]["annotations"] != other["metadata"]["annotations"]


def test_records_outlive_a_pod(helm):
    found = rendered(helm, auditStorage="2Gi")["StatefulSet"]
    [claim] = found["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    pod, container = pod_of(found)
    assert claim["metadata"]["name"] in {each["name"] for each in container["volumeMounts"]}
    assert claim["metadata"]["name"] not in {each["name"] for each in pod["spec"]["volumes"]}


def test_a_changed_configuration_is_rolled_out(helm):
    one, other = (
        pod_of(rendered(helm, config=config)["Deployment"])[0]["metadata"]["annotations"] for config in (CONFIG, "{}")
    )
    assert one != other


def test_a_chart_without_a_configuration_says_what_is_missing(helm):
    with pytest.raises(Exception, match="--set-file config"):
        rendered(helm, config="")


def test_board_and_rules_are_those_of_the_folder(helm):
    with helm.Chart.load(CHART) as chart:
        files = {each["name"] for each in chart.files}
    assert {"files/grafana.json", "files/alerts.yaml"} <= files

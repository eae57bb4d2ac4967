"""What is plugged in fits the protocol that the kernel expects of it."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

from louver.cli.options import COMMANDS
from louver.seams import plugged_in

SRC = Path(__file__).parents[1] / "src" / "louver"

EXPECTED = {
    "team.state.shared:SharedState": "steps.shared_state:SharedState",
    "team.audit.shipper:open_shipping": None,
    "team.audit.spool:SpoolTable": "steps.audit.writer:Spool",
    "team.audit.shipper:Shipper": "gateway.records:Shipper",
    "team.metrics": "steps.telemetry:Metrics",
    "team.replica_news:ReplicaNews": "gateway.back.shared_state:ReplicaNews",
    "team.login.gateway_logins:GatewayLogins": "gateway.back.logins:PluggedLogins",
    "team.login.log_in:LogIn": "gateway.back.logins:LoginStep",
    "team.login.login:Login": "gateway.back.logins:Login",
    "team.login.flow:prepare": None,
    "team.replicas:prepare": None,
    "team.replicas:Replicas": "gateway.front.replicas:Replicas",
    "team.telemetry:exported_signals": None,
    "team.telemetry:Telemetry": None,
    "team.trace_context:TraceContext": None,
    "desk.ui.api:PageApi": None,
    "desk.ui.page:PageFiles": None,
    "desk.ui.sign_in:SignIn": None,
    "lua.scripts:ScriptRunner": "gateway.builtin.scripts:ScriptRunner",
    "lua.execute:Execute": "gateway.builtin.step:BuiltInTool",
}
"""What is plugged in, or made by that -> its protocol; `None` for what is only called."""


def _differences(found, protocol):
    for name, member in vars(protocol).items():
        if name.startswith("_") or isinstance(member, property):
            continue
        own = getattr(found, name, None)
        if own is None:
            yield f"{found.__name__} has no {name}"
            continue
        params, expected = (
            [(each.name, each.kind) for each in inspect.signature(each).parameters.values() if each.name != "self"]
            for each in (own, member)
        )
        if params != expected:
            yield f"{found.__name__}.{name}{inspect.signature(own)}"


def test_what_is_plugged_in_fits_its_protocol():
    assert [
        difference
        for name, protocol in EXPECTED.items()
        if (found := plugged_in(name)) and protocol is not None
        for difference in _differences(found, plugged_in(protocol))
    ] == []


def test_every_seam_is_here():
    calls = {
        node.args[0].value
        for file in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "plugged_in"
        and isinstance(node.args[0], ast.Constant)
    }
    assert calls <= EXPECTED.keys()


def test_each_command_of_a_house_is_there():
    plugged = [each.module for each in COMMANDS if each.module]
    assert plugged
    assert all(callable(import_module(f"louver.{module}").run) for module in plugged)

"""What `louver` exports, every error that a user can meet, and the options of the SDK's client."""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import fields
from importlib import import_module

import pytest
from mcp import Client

import louver
from louver.client.target import ClientOptions

COMMAND = ("louver.__main__",)


def errors(kind):
    """A class and all below it."""
    yield kind
    for each in kind.__subclasses__():
        yield from errors(each)


def test_every_error_is_in_one_module():
    """Ours: whoever catches one looks for it there; modules that define one are loaded here."""
    for module in pkgutil.walk_packages(louver.__path__, "louver."):
        if module.name not in COMMAND:
            import_module(module.name)
    missing = [
        f"{each.__module__}.{each.__name__}"
        for each in errors(louver.LouverError)
        if not each.__name__.startswith("_") and each.__module__.startswith("louver.")
        if getattr(louver.errors, each.__name__, None) is not each
    ]
    assert missing == []


def test_what_is_exported_is_there_and_says_what_it_is(subtests):
    """Ours: lazily or not; each has a docstring of its own."""
    for name in sorted({*louver.__all__} - {"__version__"}):
        with subtests.test(name):
            assert inspect.getdoc(getattr(louver, name))


def test_what_is_not_exported_is_an_attribute_error():
    """Ours: as of any module."""
    with pytest.raises(AttributeError, match="module 'louver' has no attribute 'atach'"):
        _ = louver.atach
    with pytest.raises(AttributeError, match=r"module 'louver.gateway' has no attribute 'create_ap'"):
        _ = louver.gateway.create_ap


def test_a_client_takes_the_options_of_the_sdk_s():
    """Ours: they are written down for type checkers and editors, so a release with another option is noticed here."""
    assert ClientOptions.__annotations__.keys() == {field.name for field in fields(Client) if field.init} - {"server"}

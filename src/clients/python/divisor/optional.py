"""Optional packages, loaded at their first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


class _Package:
    """Loads a package at the first access to a member: pandas takes longer to load than most scripts to run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, member: str) -> Any:
        return getattr(import_module(self._name), member)


def package(name: str) -> Any:
    """Returns the package, not yet loaded; None if it is not installed."""
    return None if find_spec(name) is None else _Package(name)

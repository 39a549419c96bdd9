"""The build backend: hatchling, with the lesson pages built into every wheel and sdist.

An editable install does not build them, so that a first `pip install -e .` is quick; run
``python scripts/build_web.py`` when they are wanted. Where Node is missing, it is a build
requirement that comes from PyPI, asked for only when there is something to build.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling import build as _hatchling
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))

import build_web

build_editable = _hatchling.build_editable
build_sdist = _hatchling.build_sdist
build_wheel = _hatchling.build_wheel
get_requires_for_build_editable = _hatchling.get_requires_for_build_editable


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Add Node where it is missing and needed."""
    return _hatchling.get_requires_for_build_wheel(config_settings) + _node()


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Add Node where it is missing and needed."""
    return _hatchling.get_requires_for_build_sdist(config_settings) + _node()


def _node() -> list[str]:
    return [] if build_web.up_to_date() or build_web.find_node() else [build_web.NODE_WHEEL]


class LessonPages(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the lesson pages before anything but an editable wheel is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is out of date."""
        if version == "editable" or build_web.up_to_date():
            return
        build_web.build(build_web.find_node() or build_web.install_node())

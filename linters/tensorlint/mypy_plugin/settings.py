"""The plugin's options, read from mypy's own configuration file."""

from __future__ import annotations

import configparser
import sys
import tomllib
from typing import Any

SECTION = "tensorlint-mypy"


def _flag(value: object) -> bool:
    return value is True or str(value).strip().lower() in ("true", "yes", "on", "1")


def read_options(config_file: str | None) -> dict[str, bool]:
    """The plugin's section of mypy's own configuration file; unreadable is empty, as mypy has said so itself."""
    section: dict[str, Any] = {}
    inherited: set[str] = set()
    try:
        if config_file and config_file.endswith(".toml"):
            with open(config_file, "rb") as stream:
                section = tomllib.load(stream).get("tool", {}).get(SECTION, {})
        elif config_file:
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(config_file, encoding="utf-8")
            section = dict(parser[SECTION]) if parser.has_section(SECTION) else {}
            inherited = set(parser.defaults())
    except (OSError, ValueError, configparser.Error):
        pass
    for unknown in sorted(section.keys() - {"containers"} - inherited):
        # As mypy does with an option of its own that it does not know.
        print(f"{config_file}: [{SECTION}]: Unrecognized option: {unknown} (there is one: containers)", file=sys.stderr)
    return {"containers": _flag(section.get("containers", False))}

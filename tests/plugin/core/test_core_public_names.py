"""What the documents name can be imported from the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pytest_tensorcheck

ROOT = Path(__file__).parents[3]


def test_every_failure_and_warning_that_the_documents_name_is_public():
    pytest.importorskip("torch", reason="some are defined where torch is used")
    defined = set()
    for file in (ROOT / "pytest_tensorcheck").rglob("*.py"):
        defined.update(re.findall(r"^class (\w+(?:Error|Warning))\(", file.read_text(), re.MULTILINE))
    text = "".join(file.read_text() for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    named = sorted(name for name in defined if re.search(rf"\b{name}\b", text))
    assert {"GradcheckWarning", "ShapeSpecError", "SyncError"} <= {*named}
    for name in named:
        assert getattr(pytest_tensorcheck, name).__name__ == name
        assert name in dir(pytest_tensorcheck)

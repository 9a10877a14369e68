"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_outputs_in_the_readme_are_real():
    pytest.importorskip("torch", reason="the example project needs torch")
    pytest.importorskip("numpy", reason="the example project needs numpy")
    command = [sys.executable, str(ROOT / "docs" / "render_readme.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_rule_is_in_the_readme():
    from tensorlint.rules.registry import load

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for rule in load():
        assert rule.code in text
        assert rule.name in text

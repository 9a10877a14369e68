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


PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def _anchors(page: Path) -> set[str]:
    """What `#…` may name in a page: its headings as GitHub and most renderers spell them."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if target.startswith("http"):
            continue
        assert not target or (page.parent / target).exists(), target
        if anchor:
            assert anchor in _anchors(page.parent / target if target else page), f"{target}#{anchor}"


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_every_option_of_the_linter_is_documented(capsys: pytest.CaptureFixture[str]):
    from tensorlint.cli import COMMANDS, main

    text = (ROOT / "docs" / "tensorlint.md").read_text(encoding="utf-8")
    for words in ([], *([command] for command in COMMANDS)):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", capsys.readouterr().out)) - {"--help"}
        assert options
        for option in options:
            assert re.search(rf"`[^`]*{option}(?![\w-])[^`]*`", text), option


def test_every_key_of_the_configuration_is_documented():
    import tomllib

    from tensorlint.config import _KEYS

    text = (ROOT / "docs" / "tensorlint.md").read_text(encoding="utf-8")
    tables = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    shown = {key for table in tables for key in table.get("tool", {}).get("tensorlint", {})}
    assert shown == set(_KEYS)


def test_every_option_of_the_plugin_is_documented():
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
    options = set(re.findall(r"(?<![\w-])--tensorcheck[\w-]*", shown))
    assert len(options) > 10
    text = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    for option in options:
        short = option.removeprefix("--tensorcheck")  # `--tensorcheck-sync`, `-state`, ...
        assert f"`{option}" in text or f"`{short}`" in text, option


def test_the_workflows_are_yaml_and_their_commands_are_ours():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    workflow = yaml.safe_load(blocks[0] + blocks[1])
    assert set(workflow["jobs"]) == {"lint", "tests", "gpu"}
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert any(command.startswith("tensorlint check") for command in commands)
    assert any("--tensorcheck-device cuda" in command for command in commands)
    for block in blocks[2:]:
        yaml.safe_load(block)


def test_every_rule_is_in_the_readme():
    from tensorlint.rules.registry import load

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for rule in load():
        assert rule.code in text
        assert rule.name in text

"""The rules as a set: codes, names, files, pages; and a rule of one's own from its file to its finding."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import pytest

from tensorlint.cli import main
from tensorlint.config import Config, Overrides, select_rules
from tensorlint.rules.page import page
from tensorlint.rules.registry import Registry, RuleError, load
from tensorlint.rules.rule import Rule

ROOT = Path(__file__).parents[3]
RULES = list(load())


def test_there_are_rules():
    assert RULES, "no rule was found: the package is not complete"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
class TestEachRule:
    def test_code_name_and_text(self, rule):
        assert re.fullmatch(r"TSR[1-9]\d\d", rule.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
        assert type(rule).__doc__
        assert len(type(rule).__doc__.split()) >= 20, "the docstring is the reason on the rule's page"
        assert rule.summary
        assert "\n" not in rule.summary
        assert rule.default in ("on", "strict", "off")
        assert rule.severity in ("error", "warning", "info")

    def test_the_page_is_up_to_date(self, rule):
        path = ROOT / "docs" / "rules" / f"{rule.name}.md"
        assert path.is_file(), f"run python docs/generate_rules.py: {path.name} is missing"
        assert path.read_text(encoding="utf-8") == page(rule), "run python docs/generate_rules.py"

    def test_the_changelog_knows_it(self, rule):
        assert rule.code in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    def test_it_is_in_a_file_of_its_own(self, rule):
        source = Path(sys.modules[type(rule).__module__].__file__)
        assert source.parent.name == "rules"
        assert source.read_text(encoding="utf-8").count("\n    code = ") == 1


def test_pages_of_rules_that_are_gone_are_gone():
    expected = {f"{rule.name}.md" for rule in RULES} | {"index.md"}
    assert {path.name for path in (ROOT / "docs" / "rules").glob("*.md")} == expected


def test_the_generator_has_nothing_to_write():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_rules.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_are_unique_whatever_their_case():
    spellings = [each.lower() for rule in RULES for each in (rule.code, rule.name, *rule.aliases)]
    assert len(set(spellings)) == len(spellings)


def test_what_is_on_by_default():
    enabled = select_rules(Config(ROOT), Overrides(), str(ROOT / "x.py"))
    assert enabled.enabled == {rule.code for rule in RULES if rule.default == "on"}
    assert enabled.strict_only == {rule.code for rule in RULES if rule.default == "strict"}


class TestRegistry:
    def make(self, **attributes: object) -> Rule:
        from tensorlint.inference.hazards import Hazard

        values = {"code": "ONE101", "name": "one", "summary": "s", "hazard": Hazard, **attributes}
        return type("Made", (Rule,), values)()

    def test_an_alias_names_the_rule(self):
        registry = Registry()
        registry.add(self.make(aliases=("old-one", "OLD101")), "here")
        assert registry.find("old-one").code == registry.find("old101").code == "ONE101"
        assert registry.expand("old-one") == {"ONE101"}

    @pytest.mark.parametrize("clash", [{"code": "ONE101"}, {"name": "one"}, {"aliases": ("ONE101",)}])
    def test_a_spelling_belongs_to_one_rule(self, clash):
        registry = Registry()
        registry.add(self.make(), "here")
        with pytest.raises(RuleError, match=r"there: '.*' is already the name of a rule"):
            registry.add(self.make(**{"code": "TWO201", "name": "two", **clash}), "there")

    def test_prefixes(self):
        registry = Registry()
        for code, name, default in (("ONE101", "a", "on"), ("ONE102", "b", "strict"), ("ONE111", "c", "off")):
            registry.add(self.make(code=code, name=name, default=default), "here")
        assert registry.expand("ONE") == {"ONE101"}
        assert registry.expand("one10", strict=True) == {"ONE101", "ONE102"}
        assert registry.expand("ALL") == {"ONE101", "ONE102", "ONE111"}
        assert registry.expand("ONE111") == {"ONE111"}
        for wrong in ("ONE12", "ON", "", "E1"):
            if wrong == "ON":
                assert registry.expand(wrong)
                continue
            with pytest.raises(RuleError, match="unknown rule"):
                registry.expand(wrong)


RULE_OF_ONES_OWN = '''
from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.hazards import DirectForwardHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst


class NoForwardHere(Rule[DirectForwardHazard]):
    """In this repository a module is called, as the hooks write the log."""

    code = "ACME101"
    name = "acme-no-forward"
    summary = "a module's forward is called by name"
    hazard = DirectForwardHazard
    flagged = (
        Example(
            "from torch import nn\\nlayer = nn.Linear(1, 1)\\nlayer.forward(x)\\n",
            fixed="from torch import nn\\nlayer = nn.Linear(1, 1)\\nlayer(x)\\n",
        ),
    )
    silent = (Example("from torch import nn\\nlayer = nn.Linear(1, 1)\\nlayer(x)\\n"),)

    def judge(self, hazard: DirectForwardHazard, node: libcst.CSTNode) -> str:
        return f"call {hazard.receiver}(...)"

    def fix(self, hazard: DirectForwardHazard, node: libcst.CSTNode) -> libcst.CSTNode:
        return node.with_changes(func=node.func.value)
'''


class TestARuleOfOnesOwn:
    @pytest.fixture
    def repository(self, tmp_path, monkeypatch):
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools/lint_rules.py").write_text(RULE_OF_ONES_OWN)
        others = [rule.code for rule in RULES]
        (tmp_path / "pyproject.toml").write_text(
            f'[tool.tensorlint]\nrules = ["tools/lint_rules.py"]\nignore = {others}\n'
        )
        (tmp_path / "a.py").write_text("from torch import nn\nlayer = nn.Linear(1, 1)\nlayer.forward(x)\n")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def run(self, repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        script = str(Path(sys.executable).parent / "tensorlint")
        return subprocess.run([script, *arguments], cwd=repository, capture_output=True, text=True)

    def test_from_the_file_to_the_finding_the_fix_and_the_page(self, repository):
        done = self.run(repository, "check", "a.py")
        assert done.stdout.startswith("a.py:3:1: ACME101 [*] call layer(...) (acme-no-forward)\n")
        assert "ACME101  acme-no-forward" in self.run(repository, "rule").stdout
        shown = self.run(repository, "rule", "acme-no-forward").stdout
        assert "In this repository a module is called, as the hooks write the log." in shown
        assert self.run(repository, "check", "--fix", "a.py").returncode == 0
        assert (repository / "a.py").read_text().endswith("layer(x)\n")

    def test_its_examples_are_its_tests(self, repository):
        done = self.run(repository, "rule", "--test", "tools/lint_rules.py")
        assert (done.returncode, done.stdout) == (0, "ACME101: 2 examples hold\n")
        rules = repository / "tools/lint_rules.py"
        rules.write_text(RULE_OF_ONES_OWN.replace('layer(x)\\n",\n', 'layer(y)\\n",\n'))
        done = self.run(repository, "rule", "--test", "tools/lint_rules.py")
        assert done.returncode == 1
        assert "ACME101 flagged example 1: the fix gives:" in done.stdout
        rules.write_text(RULE_OF_ONES_OWN.replace('1)\\nlayer(x)\\n"),)', '1)\\nlayer.forward(x)\\n"),)'))
        done = self.run(repository, "rule", "--test", "tools/lint_rules.py")
        assert "ACME101 silent example 1: should be silent; line 3 is flagged by ACME101" in done.stdout
        assert "ACME101: 1 of 2 examples failed" in done.stdout
        rules.write_text(RULE_OF_ONES_OWN.replace("hazard.receiver}", "hazard.recever}"))
        done = self.run(repository, "rule", "--test", "tools/lint_rules.py")
        assert (done.returncode, done.stderr) == (1, "")
        assert "ACME101 flagged example 1: ACME101 raised AttributeError at lint_rules.py:" in done.stdout

    def test_from_another_distribution(self, repository, monkeypatch, capsys):
        """The files that an installed distribution has: a module, and metadata with the entry point."""
        from tensorlint.rules import registry

        site = repository / "site"
        metadata = site / "acme_rules-2.5.dist-info"
        metadata.mkdir(parents=True)
        (site / "acme_rules.py").write_text(RULE_OF_ONES_OWN)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 2.5\n")
        (metadata / "entry_points.txt").write_text("[tensorlint.rules]\nacme = acme_rules\n")
        (repository / "pyproject.toml").write_text("")
        monkeypatch.syspath_prepend(str(site))
        registry._load.cache_clear()
        try:
            assert main(["check", "--no-cache", "--select", "ACME101", "a.py"]) == 1
            assert "a.py:3:1: ACME101" in capsys.readouterr().out
            assert load().sources == ["acme_rules@2.5"]
        finally:
            registry._load.cache_clear()
            sys.modules.pop("acme_rules", None)

    @pytest.mark.parametrize("kept", ["folder", "archive", "finder", "egg", "nowhere"])
    def test_distributions_are_found_wherever_they_are_kept(self, kept, tmp_path, monkeypatch):
        """What `importlib.metadata` finds is found; only where nothing can be there it is not asked."""
        from importlib.metadata import entry_points

        from tensorlint.rules import registry

        written = "[tensorlint.rules]\nacme = acme_rules\n"
        site = tmp_path / "site"
        site.mkdir()
        path = [str(site), str(tmp_path / "missing")]
        if kept == "folder":
            (site / "acme_rules-2.5.dist-info").mkdir()
            (site / "acme_rules-2.5.dist-info" / "entry_points.txt").write_text(written)
            (site / "acme_rules-2.5.dist-info" / "METADATA").write_text("Name: acme-rules\nVersion: 2.5\n")
        elif kept == "egg":
            (site / "acme.egg" / "EGG-INFO").mkdir(parents=True)
            (site / "acme.egg" / "EGG-INFO" / "entry_points.txt").write_text(written)
            (site / "acme.egg" / "EGG-INFO" / "PKG-INFO").write_text("Name: acme-rules\nVersion: 2.5\n")
            path.append(str(site / "acme.egg"))
        elif kept == "archive":
            with zipfile.ZipFile(tmp_path / "rules.zip", "w") as archive:
                archive.writestr("acme_rules-2.5.dist-info/entry_points.txt", written)
                archive.writestr("acme_rules-2.5.dist-info/METADATA", "Name: acme-rules\nVersion: 2.5\n")
            path.append(str(tmp_path / "rules.zip"))
        monkeypatch.setattr(sys, "path", path)
        finders = [
            finder for finder in sys.meta_path if not hasattr(finder, "find_distributions") or finder is PathFinder
        ]
        if kept == "finder":
            finders.append(SimpleNamespace(find_distributions=lambda context: [], find_spec=lambda *_: None))
        monkeypatch.setattr(sys, "meta_path", finders)
        assert registry._has_entry_points() == (kept != "nowhere")
        found = {entry.name for entry in entry_points(group="tensorlint.rules")}
        assert found == ({"acme"} if kept in ("folder", "archive", "egg") else set())

    def test_a_broken_entry_point_is_one_line(self, repository, monkeypatch, capsys):
        from tensorlint.rules import registry

        metadata = repository / "site" / "acme_rules-2.5.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 2.5\n")
        (metadata / "entry_points.txt").write_text("[tensorlint.rules]\nacme = acme_missing\n")
        monkeypatch.syspath_prepend(str(repository / "site"))
        registry._load.cache_clear()
        try:
            assert main(["check", "--no-cache", "a.py"]) == 2
        finally:
            registry._load.cache_clear()
        err = capsys.readouterr().err
        assert "entry point acme (acme_missing) cannot be imported: ModuleNotFoundError" in err
        assert err.count("\n") == 1


def test_the_example_in_the_documentation_works(tmp_path, monkeypatch):
    """docs/extending.md shows a rule; it is taken from there and tested as its reader would."""
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n# tools/lint_rules.py\n(.*?)```", text, re.DOTALL)
    (tmp_path / "lint_rules.py").write_text(textwrap.dedent(code))
    monkeypatch.chdir(tmp_path)
    assert main(["rule", "--test", "lint_rules.py"]) == 0

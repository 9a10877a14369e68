"""What is read off a file's text: `re` says what words and names stand there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorlint.inference import aliases, import_chains
from tensorlint.inference.changed_names import _GIVES, _GIVES_AT_ALL, _names_given
from tensorlint.inference.walking import parameters_of, walk
from tensorlint.inference.words import has_word, is_mentioned_once, places_of, words_of

FILES = sorted(Path(__file__).parents[3].joinpath("linters").rglob("*.py"))[::7]
TEXTS = st.text(alphabet="ab_.1 =(\n\"'", max_size=60)
NAMES = st.text(alphabet="ab_", min_size=1, max_size=3)


@given(TEXTS)
def test_the_words_are_those_of_a_pattern(text: str) -> None:
    assert words_of(text) == set(re.findall(r"\w+", text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_words_of_real_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    spaced = re.sub(r"[^\x00-\x7f]", "x", text)  # what is beyond ASCII counts as letters
    assert len(words_of(spaced)) == len(set(re.findall(r"\w+", spaced)))
    assert {word for word in words_of(text) if word.isascii()} <= set(re.findall(r"\w+", text))


def test_half_a_character_is_no_error() -> None:
    assert has_word("torch \ud800 resize_", "resize_")


@given(NAMES, TEXTS)
def test_a_name_by_itself(name: str, text: str) -> None:
    assert is_mentioned_once(name, text) == (len(re.findall(rf"\b{name}\b", text)) == 1)
    assert list(places_of(name, text)) == [match.start() for match in re.finditer(name, text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_of_which_many_are_asked(path: Path) -> None:
    text = re.sub(r"[^\x00-\x7f]", "x", path.read_text(encoding="utf-8"))
    found = re.findall(r"\w+", text)
    for name in [*sorted(set(found)), "no_such_name"]:
        assert is_mentioned_once(name, text) == (found.count(name) == 1)


@given(
    NAMES,
    st.lists(st.sampled_from(["a = b.a", "  a = self.b", "b = self.b.a", "    ab = x.ab", "a = b", "b = a.b + 1"])),
)
def test_names_that_lines_give(name: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    whole = re.findall(rf"^[ \t]*(\w+) = [\w.]*\.{name}$", text, re.MULTILINE)
    assert _names_given(f".{name}", text, _GIVES_AT_ALL) == set(whole)
    indented = re.findall(rf"^[ \t]+(\w+) = (?:\w+\.)*{name}$", text, re.MULTILINE)
    assert _names_given(name, text, _GIVES) == set(indented)


@pytest.mark.parametrize(
    "text", ["c.begin()", "x = a.c.begin", "begin()", "c.beginning()", "np.begin()", "xc.begin(1)", ".begin", ""]
)
@pytest.mark.parametrize("names", [set(), {"c"}, {"begin"}, {"a", "np"}])
@pytest.mark.parametrize("starred", [False, True])
def test_mentions(text: str, names: set[str], starred: bool) -> None:
    module = SimpleNamespace(starred=starred, names=names)
    plain = re.search(r"(?<![\w.])begin\b", text) is not None and (starred or "begin" in names)
    roots = set(re.findall(r"(?<![\w.])(\w+)\.(?:\w+\.)*begin\b", text)) - {"np"}
    assert import_chains._mentions(module, text, "begin", False) == (plain or bool(roots if starred else roots & names))


def test_the_parameters_of_a_function() -> None:
    spec = ast.parse("def f(a, /, b=1, *c, d, e=lambda: 2, **g): pass").body[0].args  # type: ignore[attr-defined]
    assert parameters_of(spec) == {each.arg for each in walk(spec) if isinstance(each, ast.arg)}


@pytest.mark.parametrize(
    "line",
    ["x.resize_(3)", "x.t_()", "getattr(x, 't_')()", "x.shape = (3,)", "x.shape=(3,)", "x.data = y", "x.data=y", "x.resize(3)",
     "np.add(x, y, out=z)", "f(out=z)", "torch.utils.swap_tensors(x, y)", "x.swapaxes_(0, 1)", "x.unsqueeze_(0)", "x.set_(y)",
     "x.dtype  = y", "x.data.__setitem__(0, 1)", "f(x,out=z)"],
)  # fmt: skip
def test_lines_that_may_give_a_tensor_another_shape(line: str) -> None:
    aliases.begin(f"import torch\n{line}\n")
    try:
        assert aliases.TIES.on
    finally:
        aliases.end()


@pytest.mark.parametrize(
    "line",
    ["resize_image(x)", "assert x.shape == (3,)", "f(timeout=3)", "x.data.mean()", "out = f(x)", "x.shape[0] == 3"],
)
def test_lines_that_do_not(line: str) -> None:
    aliases.begin(f"import torch\n{line}\n")
    assert not aliases.TIES.on

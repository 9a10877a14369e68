"""stable_map in real test sessions and on real programs: what moves is named, what stays passes."""

from __future__ import annotations

from pathlib import Path

import pytest

# Now, and not within a session that pytester runs in this process: that puts sys.modules back, and pyarrow cannot be
# told of datasets' types a second time.
pytest.importorskip("datasets", reason="needs datasets")

from pytest_tensorcheck.map_stability import StableMapProcessError, UnstableMap, stable_map


@pytest.fixture(autouse=True)
def _quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions in processes of their own need no other plugins, whose imports are a good part of what they cost."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p pytest_tensorcheck.plugin -p xdist.plugin")


MOVING = """
import functools, os, random, sqlite3, time, uuid
from datasets import Dataset
from pytest_tensorcheck import stable_map

ROWS = {"text": ["alpha beta", "gamma"], "n": [1, 2]}

class Run:
    def __init__(self):
        self.width = 3
        self.key = uuid.uuid4().hex

    def cut(self, row):
        return {"t": row["text"][: self.width]}

def known(row):
    return {"t": row["text"] in {"alpha", "beta", "gamma", "delta", "epsilon"}}

def test_bound_method():
    stable_map(Dataset.from_dict(ROWS), Run().cut)

def test_set_literal_in_the_code():
    stable_map(Dataset.from_dict(ROWS), known, seeds=(0, 1))

def test_frozenset_in_fn_kwargs():
    words = frozenset(["alpha", "beta", "gamma", "delta", "epsilon"])
    stable_map(Dataset.from_dict(ROWS), lambda row, words: {"t": row["text"] in words}, fn_kwargs={"words": words}, seeds=(0, 1))

def test_database():
    db = sqlite3.connect(":memory:")
    stable_map(Dataset.from_dict(ROWS), lambda row: {"t": db is not None}, seeds=(0, 1))

def test_shuffled_rows():
    stable_map(Dataset.from_dict(ROWS).shuffle(), lambda row: {"t": 1}, seeds=(0, 1))

def test_the_second_call_moves():
    stable_map(Dataset.from_dict(ROWS), lambda row: {"t": 1}, seeds=(0, 1))
    rng = random.Random()
    stable_map(Dataset.from_dict(ROWS), lambda row: rng.random() < 2, method="filter", seeds=(0, 1))

def test_values_that_are_drawn():
    salt, tag, began, drawn = random.SystemRandom().random(), str(uuid.uuid4()), time.time_ns(), [os.urandom(4)]
    stable_map(Dataset.from_dict(ROWS), lambda row: {"t": str((salt, tag, began, drawn))}, seeds=(0, 1))

def test_an_order_that_is_drawn():
    words = list({"alpha", "beta", "gamma", "delta", "epsilon"})
    stable_map(Dataset.from_dict(ROWS), lambda row: {"t": words[0]}, seeds=(0, 1))
"""

STAYING = """
import functools, logging, re
from datasets import Dataset
from pytest_tensorcheck import stable_map

ROWS = {"text": ["alpha beta", "gamma"]}

def test_result_is_the_mapped_dataset():
    assert stable_map(Dataset.from_dict(ROWS), lambda row: {"n": len(row["text"])}, seeds=(0, 1))["n"] == [10, 5]

def test_what_stays():
    pattern, log, stop = re.compile("a+"), logging.getLogger("x"), {"alpha", "beta", "gamma", "delta"}
    def clean(row, width):
        log.debug("row")
        return {"t": [w[:width] for w in row["text"].split() if w not in stop and pattern.search(w)]}
    stable_map(Dataset.from_dict(ROWS), functools.partial(clean, width=3), seeds=(0, 1))
"""


def test_a_moving_fingerprint_fails_the_test_and_names_what_moved(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_moving=MOVING)
    result = pytester.runpytest_subprocess("-q", "-p", "no:randomly", "-rN")
    result.assert_outcomes(failed=8)
    text = result.stdout.str()
    for part in (
        "cut → self → key moved: str '",
        "known → its code moved: constants",
        "write a tuple, x in (...)",
        "fn_kwargs → words moved: frozenset",
        "db moved: Connection cannot be pickled",
        "the dataset it is called on moved already: shuffle()",
        "rng moved: Random",
        "filter takes another fingerprint in every process",
        "PYTHONHASHSEED=2: ",
    ):
        assert part in text, part
    for name in ("key", "salt", "tag", "began", "drawn"):
        told = text.partition(f" → {name} moved: ")[2].splitlines()[1]
        assert "it is drawn anew in each process (random, uuid, time, " in told
        assert f"pass a fixed value for {name}, " in told
    assert "make words from sorted(...)" in text
    assert "UnstableMap: test_moving.py:19: map takes another fingerprint" in text


def test_a_fingerprint_that_stays_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_staying=STAYING)
    pytester.runpytest_subprocess("-q", "-p", "no:randomly").assert_outcomes(passed=2)


def test_a_program_is_run_as_main_and_its_line_is_named(tmp_path: Path) -> None:
    program = tmp_path / "prepare.py"
    program.write_text(
        "import time\nfrom datasets import Dataset\n"
        "ds = Dataset.from_dict({'n': [1, 2]})\n"
        "ds = ds.map(lambda row: {'m': row['n']})\n"
        "now = time.time()\n"
        "ds = ds.filter(lambda row: row['n'] < now)\n"
    )
    with pytest.raises(UnstableMap, match=r"prepare\.py:6: filter takes another fingerprint") as caught:
        stable_map(program, seeds=(0, 1))
    assert "now moved: float" in str(caught.value)
    program.write_text(program.read_text().replace("time.time()", "3.0"))
    assert len(stable_map(program, seeds=(0, 1))) == 2


def test_what_cannot_be_compared_is_an_error_and_not_a_pass(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.write_text("print('nothing')\n")
    with pytest.raises(StableMapProcessError, match="made no map and no filter"):
        stable_map(empty, seeds=(0, 1))
    empty.write_text("raise SystemExit('no data here')\n")
    with pytest.raises(StableMapProcessError, match="no data here"):
        stable_map(empty, seeds=(0, 1))
    with pytest.raises(FileNotFoundError, match="no program"):
        stable_map(tmp_path / "absent.py")
    with pytest.raises(TypeError, match="must be one of a module"):
        stable_map(lambda: None)
    with pytest.raises(ValueError, match="two seeds"):
        stable_map(empty, seeds=(0,))
    with pytest.raises(TypeError, match=r"takes a dataset that has \.map, not list: stable_map\(Dataset"):
        stable_map([1, 2], lambda row: row)

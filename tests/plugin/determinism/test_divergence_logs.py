"""Logs in files, and `tensorcheck-diverge`, between real processes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("numpy", reason="needs numpy")

from pytest_tensorcheck.broadcasting import observe  # noqa: E402
from pytest_tensorcheck.determinism import (  # noqa: E402
    DivergenceError,
    LogChecker,
    LogWriter,
    compare_logs,
    deterministic,
    record,
)
from pytest_tensorcheck.determinism.causes import Cause  # noqa: E402
from pytest_tensorcheck.determinism.diverge_command import main  # noqa: E402
from pytest_tensorcheck.determinism.logs import LogError, read_log  # noqa: E402


def training(scale=1.0):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(torch.randn(4, 3) * scale).square().mean().backward()
    optimizer.step()
    return model


def logged(path, call):
    with deterministic.record(path):
        call()
    return path


def test_equal_runs_agree(tmp_path, capsys):
    a, b = logged(tmp_path / "a.jsonl", training), logged(tmp_path / "b.jsonl.gz", training)
    assert compare_logs(a, b) == {"": None}
    assert main([str(a), str(b)]) == 0
    assert capsys.readouterr().out == "1 compared, 0 differ\n"
    with gzip.open(b, "rt") as file:
        assert json.loads(file.readline())["tensorcheck_log"] == 1


class Paced(torch.utils.data.Dataset):
    def __init__(self, slow, drift):
        self.slow, self.drift = slow, drift

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if torch.utils.data.get_worker_info().id == self.slow:
            time.sleep(0.1)
        return torch.rand(3) + self.drift


@pytest.mark.parametrize("watched", [False, True], ids=["", "under the broadcast guard"])
def test_the_pace_of_workers_is_no_difference_and_what_they_send_is(tmp_path, watched):
    """Whether a batch comes before the sampler draws its last permutation is luck."""

    def logged_epoch(name, slow, drift=0.0):
        def epoch():
            torch.manual_seed(0)
            with observe() if watched else nullcontext():
                loader = torch.utils.data.DataLoader(Paced(slow, drift), batch_size=2, num_workers=2, shuffle=True)
                return [batch.sum() for batch in loader]

        return logged(tmp_path / name, epoch)

    first = logged_epoch("first.jsonl", slow=0)
    assert compare_logs(first, logged_epoch("second.jsonl", slow=1)) == {"": None}
    [divergence] = compare_logs(first, logged_epoch("third.jsonl", slow=0, drift=1.0)).values()
    assert divergence.cause is Cause.WORKERS


def test_the_first_difference_is_named_at_its_line(tmp_path, capsys):
    a, b = logged(tmp_path / "ci.jsonl", training), logged(tmp_path / "laptop.jsonl", lambda: training(1.5))
    assert main([str(a), str(b)]) == 1
    out = capsys.readouterr().out
    line = training.__code__.co_firstlineno + 4
    assert (
        f"ci.jsonl and laptop.jsonl differ first in aten.mul at tests/plugin/determinism/test_divergence_logs.py:{line}"
        in (out.replace(os.sep, "/"))
    )
    assert "difference: 1.0 in ci.jsonl, 1.5 in laptop.jsonl" in out


def test_rounding_is_let_through_by_rtol_and_nothing_larger(tmp_path):
    x = torch.linspace(1, 2, 50, dtype=torch.float64)

    def run(by):
        return lambda: (x * torch.full((50,), by, dtype=torch.float64)).sum()

    # The factor comes from outside: full's argument would be a difference of its own.
    def data(by):
        y = x * by
        return lambda: y.exp().sum()

    a = logged(tmp_path / "a", data(1.0))
    near, far = logged(tmp_path / "near", data(1.0 + 1e-12)), logged(tmp_path / "far", data(1.01))
    assert compare_logs(a, near)[""] is not None
    assert compare_logs(a, near, rtol=1e-9)[""] is None
    assert compare_logs(a, far, rtol=1e-9)[""] is not None


PROGRAM = """
import sys, torch
from pytest_tensorcheck.determinism import record
def run():
    weights = {name: torch.full((2,), float(i)) for i, name in enumerate("abcdefgh")}
    total = torch.zeros(2)
    for name in set("abcdefgh"):
        total = total * 0.5 + weights[name]
    return total
torch.set_num_threads(int(sys.argv[2]))
torch.manual_seed(0)
with record(sys.argv[1], "program"):
    run()
    [row.sum() for row in torch.rand(16, 500_000)]  # one sum alone may come out the same by luck
"""


@pytest.fixture(scope="module")
def process_logs(tmp_path_factory):
    """A log of the same program for each (hash seed, threads)."""
    folder = tmp_path_factory.mktemp("processes")
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    found = {}
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        found[seed, threads] = folder / f"{seed}-{threads}.jsonl"
        subprocess.run(
            [sys.executable, "program.py", str(found[seed, threads]), str(threads)],
            check=True,
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
    return found


def test_the_order_of_a_set_in_two_processes(process_logs, monkeypatch):
    monkeypatch.chdir(process_logs[1, 1].parent)
    divergence = compare_logs(process_logs[1, 1], process_logs[2, 1])["program"]
    assert (divergence.cause.name, divergence.where.line) == ("ORDER", 8)
    assert [evidence.where.line for evidence in divergence.evidence] == [7]
    assert any("PYTHONHASHSEED: 1 → 2" in note for note in divergence.notes)


def test_another_thread_count_on_another_machine(process_logs):
    divergence = compare_logs(process_logs[1, 1], process_logs[1, 2])["program"]
    assert (divergence.cause.name, divergence.where.line) == ("THREADS", 14)
    assert compare_logs(process_logs[1, 1], process_logs[1, 2], rtol=1e-4)["program"] is None


def test_a_checker_compares_the_running_code(tmp_path):
    path = tmp_path / "log"
    writer = LogWriter(path)
    with writer.recording("one"):
        training()
    writer.close()
    checker = LogChecker(path)
    assert not checker.missing("one")
    assert checker.missing("two")
    with checker.checking("one"):
        training()
    with (
        pytest.raises(DivergenceError, match=r"^one: log and this run differ first in aten\.mul"),
        checker.checking("one"),
    ):
        training(2.0)
    with pytest.raises(KeyError), checker.checking("two"):
        raise KeyError


def test_a_recording_that_raises_is_kept_and_the_error_passes(tmp_path):
    path = tmp_path / "log"
    with pytest.raises(ZeroDivisionError), record(path):
        torch.ones(2) + 1
        1 / 0
    recording = read_log(path).recordings[""]
    assert "ZeroDivisionError" in recording.error
    assert len(recording.operations) == 2


@pytest.mark.parametrize(
    ("one", "two", "agree"),
    [
        ("<method rand at 0x7f17aa> failed", "<method rand at 0x7f88b0c0> failed", True),
        ("lost the object 140234866534464", "lost the object 139911240298560", True),
        ("<rand at 0x7f17aa> gave 3", "<rand at 0x7f17aa> gave 4", False),
        ("0.12345678901234 is too large", "0.12345678901239 is too large", False),
        ("step 1000000 failed", "step 1000001 failed", False),
    ],
)
def test_tests_that_fail_alike_agree_wherever_their_objects_lie(tmp_path, one, two, agree):
    for name, text in (("a", one), ("b", two)):
        with pytest.raises(AssertionError), record(tmp_path / name, "t"):
            torch.ones(2).sum()
            raise AssertionError(text)
    found = compare_logs(tmp_path / "a", tmp_path / "b")["t"]
    assert (found is None) == agree
    assert found is None or one in found.detail


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a log of tensorcheck"),
        ("hello\n", "not a log of tensorcheck, or cut short"),
        ('{"tensorcheck_log": 99}\n', "version 99"),
        ('{"tensorcheck_log": 1, "machine": {}}\n{"op": [1]}\n', "cut short"),
    ],
)
def test_a_file_that_is_no_log_is_one_clear_line(tmp_path, capsys, content, message):
    path = tmp_path / "odd"
    path.write_text(content)
    with pytest.raises(LogError, match=message):
        read_log(path)
    assert main([str(path), str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_files_that_are_missing_and_logs_without_a_common_name(tmp_path, capsys):
    assert main([str(tmp_path / "none"), str(tmp_path / "none")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"none: no such file; expected is a log made with `pytest --tensorcheck-record {tmp_path / 'none'}`" in said
    for name in ("a", "b"):
        with record(tmp_path / name, name):
            torch.ones(1) + 1
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "nothing to compare" in capsys.readouterr().err

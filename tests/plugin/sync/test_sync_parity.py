"""The simulator beside what a real GPU said (benchmarks/record_sync_parity.py), wherever such a record exists."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import sync_corpus_runner as runner  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
RECORDER = ROOT / "benchmarks" / "record_sync_parity.py"
OPINFO = ROOT / "benchmarks" / "sync_opinfo.py"
OPERATORS = sorted(runner.DATA.glob("sync_opinfo_*.json"))
RECORDS = sorted(runner.DATA.glob("sync_parity_*.json"))


def compare(document: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """({function: difference}, number of functions compared) of a record and the simulator."""
    corpus = runner.load_corpus()
    every = {**runner.functions(corpus, aside=False), **runner.functions(corpus, aside=True)}
    different, compared = {}, 0
    for name, recorded in document["functions"].items():
        function = every.get(name)
        text = None if function is None else "\n".join(runner.marked(function).values()).rstrip()
        if function is None or text != recorded["source"] or recorded["crash"]:
            continue
        compared += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = runner.run(function)
        first = function.__code__.co_firstlineno
        simulated = {line - first for line in result["wanted"] if line not in result["missed"]}
        simulated |= {line - first for line in result["false"] if isinstance(line, int)}
        lines = text.split("\n")
        # In backward CUDA's debug mode names the line that called backward, our watcher and the simulator the forward line.
        calls = {at for at, line in enumerate(lines) if "backward(" in line or ".grad(" in line}
        said = set(recorded["trace"]) | (set(recorded["debug_mode"]) - calls)
        if not said and recorded.get("waited"):
            if not simulated:
                different[name] = {"waits on the GPU": "without a line"}
            continue
        missed, extra = said - simulated, simulated - said
        if missed or extra:
            different[name] = {"only on the GPU": sorted(missed), "only simulated": sorted(extra)}
        if set(recorded["debug_mode"]) & calls and not recorded["trace"]:
            different[name] = {"not seen by the watcher": sorted(set(recorded["debug_mode"]) & calls)}
    return different, compared


@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_the_simulator_agrees_with_the_gpu(path: Path) -> None:
    document = json.loads(path.read_text())
    different, compared = compare(document)
    assert compared >= 240
    assert different == {}


def test_there_is_a_record_of_a_real_gpu() -> None:
    assert RECORDS
    assert OPERATORS


@pytest.mark.usefixtures("samples_of_torch")
@pytest.mark.parametrize("path", OPERATORS, ids=[path.stem for path in OPERATORS])
def test_operators_wait_in_the_simulation_as_on_the_gpu(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own samples of a third of its operators, forward and backward; of all: `benchmarks/sync_opinfo.py --compare`."""
    pytest.importorskip("expecttest", reason="torch's samples need it")
    pytest.importorskip("torch.testing._internal.common_methods_invocations")
    module = _load(OPINFO)
    document = json.loads(path.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        different, compared = module.compare(document, module.record(every=3))
    assert compared >= 800
    assert different == {}
    name = "masked_select"
    document["operators"][name] = dict.fromkeys(document["operators"][name], "")
    assert list(module.compare(document, json.loads(path.read_text()))[0]) == [name]


def _recorder() -> Any:
    return _load(RECORDER)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorder_writes_what_the_comparison_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU: the record is made by the simulator, so that both must agree; and a changed record must not."""
    recorder = _recorder()
    corpus = runner.load_corpus()
    few = ("read_item", "backward_prod", "no_unpack", "train_loader")
    monkeypatch.setattr(
        runner, "functions", lambda corpus, aside: {} if aside else {n: getattr(corpus, n) for n in few}
    )
    document = json.loads(json.dumps({"functions": recorder.record(simulate=True)}))
    assert set(document["functions"]) == set(few)
    assert compare(document) == ({}, 4)
    document["functions"]["read_item"]["debug_mode"] = document["functions"]["read_item"]["trace"] = [1]
    assert compare(document)[0] == {"read_item": {"only on the GPU": [1], "only simulated": [3]}}
    document["functions"]["read_item"]["source"] += " "
    assert compare(document) == ({}, 3)
    assert recorder.source_of(corpus.read_item).startswith("def read_item(dev):")


def test_the_recorder_reads_the_lines_of_cudas_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = _recorder()
    modes = []
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    code = "import warnings\ndef f(dev):\n    x = 1\n    warnings.warn('called a synchronizing CUDA operation')\n    1 / 0\n"
    space: dict[str, Any] = {}
    exec(compile(code, str(runner.CORPUS), "exec"), space)
    assert recorder.debug_mode_lines(space["f"]) == ([4], "ZeroDivisionError: division by zero")
    assert modes == ["warn", 0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_the_recorder_says_so_in_one_line() -> None:
    done = subprocess.run([sys.executable, str(RECORDER)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "record_sync_parity.py needs a CUDA GPU: torch.cuda.is_available() is False here"
    assert done.stdout == ""

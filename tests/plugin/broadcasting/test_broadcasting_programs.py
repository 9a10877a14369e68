"""Every accidental broadcast of the programs is reported, and no correct one."""

from __future__ import annotations

import importlib.util
import linecache
import textwrap
import warnings
from pathlib import Path

import pytest

from pytest_tensorcheck.broadcasting import allow_broadcast, observe, watch

np = pytest.importorskip("numpy", reason="needs numpy")


def load(name):
    """A module of programs beside this file; test folders are not packages."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


programs = load("broadcast_programs")
settled = load("broadcast_programs_settled")
TORCH_BUGS = programs.TORCH_BUGS | settled.TORCH_BUGS
TORCH_CORRECT = programs.TORCH_CORRECT | settled.TORCH_CORRECT


def run(name, program, **names):
    """The observations of a program, which stands in a file of its own as far as Python can tell."""
    text = textwrap.dedent(program).strip() + "\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    code = compile(text, file, "exec")
    namespace = {"__name__": "program", "allow_broadcast": allow_broadcast, "n": 5, "m": 7, **names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with observe() as seen:
            exec(code, namespace)
    assert all(each.where.file == file for each in seen)
    return seen


def run_torch(name, program):
    torch = pytest.importorskip("torch", reason="needs torch")
    from torch.utils.data import DataLoader, TensorDataset

    if "einops" in program:
        pytest.importorskip("einops", reason="needs einops")
        import einops
    else:
        einops = None
    torch.manual_seed(0)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "einops": einops}
    return run(name, program, DataLoader=DataLoader, TensorDataset=TensorDataset, **names)


@pytest.mark.parametrize("name", TORCH_BUGS)
def test_torch_bugs_are_reported(name):
    seen = run_torch(name, TORCH_BUGS[name])
    assert seen if name in settled.TORCH_BUGS else len(seen) == 1, [each.detail for each in seen] or "missed alarm"
    assert {each.facts["rule"] for each in seen} <= {"TSR111", "TSR112"}


@pytest.mark.parametrize("name", TORCH_CORRECT)
def test_torch_correct_programs_are_silent(name):
    seen = run_torch(name, TORCH_CORRECT[name])
    assert not seen, "false alarm: " + seen[0].detail


@pytest.mark.parametrize("name", programs.NUMPY_BUGS)
def test_numpy_bugs_are_reported(name):
    seen = run(name, programs.NUMPY_BUGS[name], np=watch(np))
    assert len(seen) == 1, [each.detail for each in seen] or "missed alarm"


@pytest.mark.parametrize("name", programs.NUMPY_CORRECT)
def test_numpy_correct_programs_are_silent(name):
    seen = run(name, programs.NUMPY_CORRECT[name], np=watch(np))
    assert not seen, "false alarm: " + seen[0].detail


def test_no_program_hides_another():
    assert len(TORCH_BUGS) == len(programs.TORCH_BUGS) + len(settled.TORCH_BUGS)
    assert len(TORCH_CORRECT) == len(programs.TORCH_CORRECT) + len(settled.TORCH_CORRECT)

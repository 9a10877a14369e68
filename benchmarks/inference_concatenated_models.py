"""Models of hundreds of public repositories against the inference: what is claimed, beside what the running module holds.

    python benchmarks/inference_concatenated_models.py pytorch-jit-paritybench/generated --files 200
    python benchmarks/inference_concatenated_models.py pytorch-jit-paritybench/generated --begin 1 --step 3 --store

The folder is that of https://github.com/jansel/pytorch-jit-paritybench, which has to be cloned first: each of its files
is the modules of one repository, one behind the other, and ends with `TESTCASES`: classes, with functions that make the
arguments of the class and of its `forward`. Needs torch and numpy, and torchvision for most files. Each file is run in a process of its own,
and its modules once, forward, on a CPU; how a claim is held against a value is told in inference_real_models.py.

What such a file imports and is not there is a `StandIn`, and so is the `MagicMock` that it puts in other places: it can be called and has every attribute, and is no
number, sequence or base class, so that no size and no tensor comes of it. What it is itself is held against no claim.

A size that has a name is taken not to be 0 or 1 (docs/inference.md), and the arguments here are chosen by a program,
which likes heads of one channel. Wrong claims of a call in which a size is 0 or 1 that is claimed, or that the function
spells out, stand apart.

Prints Markdown; `--store` writes benchmarks/results/inference_concatenated_models.md. Exit code 1 if a claim is wrong.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import multiprocessing
import os
import platform
import re
import signal
import sys
import traceback
import unittest.mock
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from inference_real_models import Claims, Score, Tracer, prepare

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "inference_concatenated_models.md"
PRESENT = frozenset({"torch", "numpy", "torchvision"}) | sys.stdlib_module_names
LOADING, ANALYSIS, CALL = 40, 60, 10  # seconds for a file, what is said of it, and one module
LONGEST = 180  # seconds for all of a file
MOST = 40  # modules of a file


# -- what is not there ---------------------------------------------------------------------------------------------


class StandIn:
    """What stands in the place of a name that is not there. It is no number and has no length, so that nothing can be made of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *_: Any, **__: Any) -> StandIn:
        return StandIn()

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[type, ...]:
        return (Absent,)


class Absent:
    """The base of a class whose base is not there: no object can be made."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise TypeError("the base class is not there")


class StandInModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()


class StandInFinder:
    """Behind all other finders: what the file itself imports and is not there. Packages ask for others in vain, as ever."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename != self.path or name.partition(".")[0] in PRESENT:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = StandInModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


class Configuration(dict[str, Any]):
    """The files' `_mock_config`: a dictionary whose items are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def companion() -> ModuleType:
    """The module that the files take the ingredients of their arguments from, `_paritybench_helpers`."""
    import torch

    class Layer(torch.nn.ReLU):
        expansion = 1

    def layer(inputs: Any = None, outputs: Any = None, *_: Any, **given: Any) -> Any:
        return torch.nn.Linear(inputs, outputs, **given) if inputs and outputs else Layer()

    def join_functions() -> None:
        """Some of the repositories call torch.functional F, others torch.nn.functional."""
        one, other = torch.functional, torch.nn.functional
        for source, target in ((one, other), (other, one)):
            for name in dir(source):
                if re.match("[a-z]", name) and not hasattr(target, name):
                    setattr(target, name, getattr(source, name))

    module: Any = ModuleType("_paritybench_helpers")
    module._mock_layer, module._mock_config, module.patch_functional = layer, Configuration, join_functions
    module._paritybench_base, module._fails_compile = type("Base", (), {}), lambda: lambda case: case
    return module  # type: ignore[no-any-return]


# -- one file ------------------------------------------------------------------------------------------------------


class Modules(Tracer):
    """The tracer, which holds nothing against a stand-in."""

    arrays = 0

    def compare_array(self, row: Any, value: Any, state: Any, values: dict[str, Any]) -> str | None:
        if isinstance(value, (StandIn, StandInModule, Absent)):
            return None
        self.arrays += 1
        return super().compare_array(row, value, state, values)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def load(path: Path) -> tuple[Sequence[Any], str | None]:
    """The file's cases, and why it could not be run to its end."""
    module = ModuleType("concatenated")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    error = None
    with (
        unittest.mock.patch("unittest.mock.MagicMock", StandIn),
        unittest.mock.patch("unittest.mock.mock_open", StandIn),
    ):
        try:
            with at_most(LOADING):
                exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), vars(module))
        except Exception as problem:
            error = f"{type(problem).__name__}: {str(problem)[:80]}"
    return vars(module).get("TESTCASES", ()), error


def run_case(case: Any, tracer: Tracer) -> None:
    import torch

    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    kind, make_own, make_given, _ = case
    with at_most(CALL), torch.no_grad():
        arguments, keywords = make_own()
        sys.settrace(tracer)
        try:
            module = kind(*arguments, **keywords)
            arguments, keywords = make_given()
            module(*arguments, **keywords)
        finally:
            sys.settrace(None)


def run_file(path: Path, answer: Callable[[dict[str, Any]], None]) -> None:
    """Run the file's modules; how many ran, what is known of what they assigned, and the wrong claims."""
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    sys.meta_path.append(StandInFinder(path))  # type: ignore[arg-type]
    claims, score = Claims(False), Score()
    tracer = Modules(claims, score, (str(path),))
    cases, error = load(path)
    result: dict[str, Any] = {"error": error, "cases": len(cases[:MOST]), "ran": 0}
    try:
        with at_most(ANALYSIS):
            claims.of(str(path))
        for case in cases[:MOST]:
            try:
                run_case(case, tracer)
            except Exception:
                continue
            result["ran"] += 1
    except Exception:
        result["failure"] = traceback.format_exc(limit=-3)
    for part in ("ran", "known", "ranked", "full", "strides"):
        result["of_" + part] = len(getattr(score, part))
    result |= {"checks": score.checks, "arrays": tracer.arrays, "unit": sorted(score.unit)}
    result["wrong"] = [f"{path}:{line} {name}: {problem}" for (_, line, name), problem in sorted(score.wrong.items())]
    answer(result)


def in_a_process(path: Path) -> dict[str, Any]:
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=run_file, args=(path, sending.send))
    process.start()
    sending.close()
    try:
        result: dict[str, Any] = receiving.recv() if receiving.poll(LONGEST) else {"failure": f"over {LONGEST} s"}
    except EOFError:
        result = {"failure": "the process ended"}
    process.kill()
    process.join()
    return result


# -- all of them ---------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the files, or one of them")
    parser.add_argument("--begin", type=int, default=0, metavar="N", help="the first file, in the order of their names")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="every how manieth file from there on")
    parser.add_argument("--files", type=int, default=None, metavar="N", help="at most so many")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    found = [arguments.folder] if arguments.folder.is_file() else sorted(arguments.folder.glob("test_*.py"))
    paths = [path.resolve() for path in found[arguments.begin :: arguments.step][: arguments.files]]
    warnings.filterwarnings("ignore")
    sys.setrecursionlimit(3_000)
    import torch

    if importlib.util.find_spec("torchvision") is not None:
        prepare("torchvision")
    # What a file does to the modules it meets must not meet the inference half loaded.
    importlib.import_module("tensorlint.inference.analysis")
    importlib.import_module("tensorlint.project")
    torch.set_num_threads(1)
    sys.modules["_paritybench_helpers"] = companion()
    total: Counter[str] = Counter()
    wrong, unit, failures = [], [], []
    for path in paths:
        result = in_a_process(path)
        if arguments.verbose:
            print(f"{path.name}: {result}", file=sys.stderr, flush=True)
        total["files"] += 1
        total["run"] += bool(result.get("ran"))
        for key, value in result.items():
            if isinstance(value, int):
                total[key] += value
        within = f"{path.parent}{os.sep}"
        wrong += [text.removeprefix(within) for text in result.get("wrong", ())]
        unit += [text.removeprefix(within) for text in result.get("unit", ())]
        if "failure" in result:
            failures.append(f"{path.name}: {result['failure'].strip().splitlines()[-1]}")

    def part(key: str) -> str:
        return f"{total[key] / total['of_ran']:.0%}" if total["of_ran"] else "–"

    text = "\n".join(
        [
            "| files | with a module that ran | modules run, of | assignments that gave a name a tensor | known to be a tensor | rank | full shape "
            "| strides | tensors' claims checked | arrays' | wrong claims |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            f"| {total['files']:,} | {total['run']:,} | {total['ran']:,} of {total['cases']:,} | {total['of_ran']:,} | {part('of_known')} "
            f"| {part('of_ranked')} | {part('of_full')} | {part('of_strides')} | {total['checks']:,} | {total['arrays']:,} | {len(wrong)} |",
            "",
            *(f"- wrong: {each}" for each in wrong),
            *(f"- where a size is 0 or 1: {each}" for each in unit),
            *(f"- not finished: {each}" for each in failures),
        ]
    )
    print(text)
    if arguments.store:
        import numpy

        given = [argument for argument in sys.argv[1:] if argument != str(arguments.folder)]
        command = " ".join(["python benchmarks/inference_concatenated_models.py", arguments.folder.name, *given])
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, torch {torch.__version__}, numpy {numpy.__version__}, `{command}`"
        RESULT.write_text(
            f"# The inference beside the modules of public repositories\n\n{stamp}\n\n{text}\n", encoding="utf-8"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

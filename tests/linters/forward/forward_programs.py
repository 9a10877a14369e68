"""The programs of `data/`, and what Python does with them: whether a module's forward ran without its `__call__`.

Each stands below a line `### name`. `§.forward` marks a direct call: the fault is the program with it, the repair the
one without it. Programs without a mark are right as they are.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import threading
import types
import warnings
from pathlib import Path

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.fixes import fix
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

DATA = Path(__file__).with_name("data")
# Torch's own ways from a call to forward: what they call was called properly.
_PROPER = ("_call_impl", "_wrapped_call_impl", "inner", "_slow_forward")
# Where torch's functions that call what they are handed are written.
_CALLERS = (
    "threading",
    "concurrent/",
    "multiprocessing/",
    "torch/utils/",
    "torch/_dynamo/",
    "torch/_compile.py",
    "torch/autograd/",
    "torch/_functorch/",
    "contextlib",
)


def programs(name: str) -> dict[str, tuple[str | None, str]]:
    """Title -> (bad, good) of `data/{name}.txt`; bad is None for a program that is right."""
    found: dict[str, tuple[str | None, str]] = {}
    for part in re.split(r"^### ", (DATA / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, code = part.partition("\n")
        bad, apart, good = code.partition("\n--- good\n")
        if apart:
            found[title] = (bad.replace("§", "") + "\n", good)
        elif "§" in code:
            found[title] = (code.replace("§", ""), code.replace("§.forward", ""))
        else:
            found[title] = (None, code)
    return found


def forwards(code: str) -> list[Finding]:
    """The findings of TSR301."""
    return findings_of(PythonSource("case.py", code), load(), Selection(frozenset(("TSR301",))), None)[0]


def others(code: str) -> list[str]:
    """What the other default rules say."""
    defaults = frozenset(rule.code for rule in load() if rule.default == "on")
    return [each.code for each in findings_of(PythonSource("case.py", code), load(), Selection(defaults), None)[0]]


def repaired(code: str) -> str:
    """The program after `--fix` of TSR301."""
    selection = Selection(frozenset(("TSR301",)))
    done = fix(
        PythonSource("case.py", code), lambda source: findings_of(source, load(), selection, None)[0], unsafe=False
    )
    return done.source.text


def imported(code: str) -> set[str]:
    """The top-level packages a program imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names


def goes_past_call(code: str) -> bool:
    """Runs the program: whether some module's forward was called by the program itself, not by its `__call__`."""
    import torch

    found: list[str] = []

    def watch(frame: types.FrameType, event: str, argument: object) -> None:
        own = frame.f_code.co_varnames[:1]
        if event != "call" or frame.f_code.co_name != "forward" or not own:
            return
        module = frame.f_locals.get(own[0])
        above = frame.f_back
        if above is None or not isinstance(module, torch.nn.Module):
            return
        if above.f_code.co_name in _PROPER and above.f_code.co_filename.endswith("nn/modules/module.py"):
            return
        while above.f_back is not None and any(text in above.f_code.co_filename for text in _CALLERS):
            above = above.f_back
        if above.f_back is None and "threading" in above.f_code.co_filename:  # of a thread
            found.append(type(module).__name__)
        holder = above.f_code.co_varnames[:1]
        if above.f_code.co_name == "forward" and holder and above.f_locals.get(holder[0]) is module:
            return  # super().forward(...)
        if above.f_code.co_filename == "<case>":
            found.append(type(module).__name__)

    main = types.ModuleType("case")
    sys.modules["case"] = main
    compiled = compile(code, "<case>", "exec")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(watch)
        threading.setprofile(watch)
        try:
            exec(compiled, main.__dict__)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            del sys.modules["case"]
    return bool(found)

"""Generators that a test makes without a seed: `np.random.default_rng()` and its kin take theirs from the operating system.

numpy asks one function of its own for that entropy, whoever calls and however the name was imported; while the checks
are on, that function tells us. torch.Generator() needs no watching: its first seed is a constant (67280421310721);
torch.seed() does.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.seeding import loaded_numpy_random
from pytest_tensorcheck.user_line import UserLine, user_frame

# Whoever calls these and makes numpy ask for entropy gave no seed. RandomState(3) also asks, and then overwrites it:
# RandomState and seed count only when the source shows no argument. Everything else (jumped(), copies) is silent.
_CERTAIN = frozenset({"default_rng", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"})
_WITHOUT_ARGUMENTS = frozenset({"RandomState", "seed"})

_REMEDY = (
    "It draws other numbers in every run, which no seed of tensorcheck can reach: pass a seed, e.g. "
    "np.random.default_rng(0), or use the fixture numpy_rng."
)


class UnseededGenerators:
    """Tells `report` of each unseeded generator, while started."""

    def __init__(self, report: Callable[[Observation], None]) -> None:
        self._report = report
        self._patched: list[tuple[Any, str, Any, Any]] = []

    def watch_numpy(self) -> None:
        module = getattr(loaded_numpy_random(), "bit_generator", None)
        original = getattr(module, "randbits", None)  # numpy 1.26 to 2.4
        if original is None:
            return

        def randbits(bits: int) -> int:
            self._note_numpy(_beyond_this_package(sys._getframe(1)))
            return int(original(bits))

        self._patch(module, "randbits", randbits)

    def watch_torch(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None:
            return
        original = torch.random.seed

        @wraps(original)
        def seed() -> int:
            self._note("torch.seed()", sys._getframe(1))
            return int(original())

        self._patch(torch.random, "seed", seed)
        self._patch(torch, "seed", seed)

    def stop(self) -> None:
        while self._patched:
            module, name, original, ours = self._patched.pop()
            if getattr(module, name) is ours:
                setattr(module, name, original)

    def _patch(self, module: Any, name: str, replacement: Any) -> None:
        if any(known is module and attribute == name for known, attribute, _, _ in self._patched):
            return
        self._patched.append((module, name, getattr(module, name), replacement))
        setattr(module, name, replacement)

    def _note_numpy(self, caller: FrameType) -> None:
        call = call_at(caller)
        if call is None:
            return
        name = ast.unparse(call.func).rpartition(".")[2]
        if name in _CERTAIN or (name in _WITHOUT_ARGUMENTS and _gives_no_seed(call)):
            self._note(ast.unparse(call), caller)

    def _note(self, source: str, caller: FrameType) -> None:
        user = user_frame(caller)
        if user is None or _is_imported(caller, user):
            return
        library = "" if user is caller else f" in {caller.f_globals.get('__name__', 'a library')}, called from here"
        where = UserLine(user.f_code.co_filename, user.f_lineno, user.f_code.co_qualname)
        self._report(
            Observation(
                check="seed",
                message=f"{source}{library} makes random numbers without a seed",
                where=where,
                detail=f"{source}{library} makes random numbers without a seed. {_REMEDY}",
                facts={"call": source},
            )
        )


def _beyond_this_package(frame: FrameType) -> FrameType:
    """The caller of our wrapper of numpy.random.seed, where that is who asks."""
    while frame.f_globals.get("__name__", "").startswith("pytest_tensorcheck.") and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_imported(caller: FrameType, user: FrameType) -> bool:
    """Whether the user merely imported the library: what it makes then (a default argument) is not what they draw from."""
    frame: FrameType | None = caller
    while frame is not None and frame is not user:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def call_at(frame: FrameType) -> ast.Call | None:
    """The call that the frame is executing, from its source; None where there is no source to read."""
    positions = list(frame.f_code.co_positions())
    index = frame.f_lasti // 2
    if not 0 <= index < len(positions):
        return None
    line, end_line, column, end_column = positions[index]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    lines = [
        linecache.getline(frame.f_code.co_filename, number, frame.f_globals).encode()
        for number in range(line, end_line + 1)
    ]
    if not lines or not lines[-1]:
        return None
    lines[-1] = lines[-1][:end_column]  # columns count bytes
    lines[0] = lines[0][column:]
    try:
        node = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None
    return node if isinstance(node, ast.Call) else None


def _gives_no_seed(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return all(isinstance(value, ast.Constant) and value.value is None for value in values)

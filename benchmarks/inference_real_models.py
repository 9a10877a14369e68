"""Real models against the inference: every claim about a tensor, beside what the running program holds at that line.

    python benchmarks/inference_real_models.py
    python benchmarks/inference_real_models.py --only timm --project --store

Needs torch, and of timm, torchvision and transformers whatever is to be run; nothing is downloaded, the weights are
random and the models tiny. A model's own Python code is traced line by line: after each assignment to a name, the
value that the frame holds is compared with what `tensorlint` says of that line: that it is a tensor at all, its rank,
its sizes (numbers; names are looked up in the frame, and mean one size throughout it), strides, contiguity, dtype.

It also counts, of the assignments that ran and gave a name a tensor, how many the inference knows: a denominator that
owes nothing to the inference. Prints Markdown; `--store` writes benchmarks/results/inference_real_models.md.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import dis
import importlib
import importlib.util
import inspect
import os
import platform
import signal
import sys
import time
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "inference_real_models.md"
LONGEST = 120  # seconds for one model
MODELS: dict[str, list[str]] = tomllib.loads((ROOT / "benchmarks" / "real_models.toml").read_text(encoding="utf-8"))


# -- what is claimed -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Statement:
    """One binding statement: its lines, the names and attributes it binds, whether it leaves a function, and for a loop
    the lines its body must be entered at."""

    first: int
    last: int
    names: frozenset[str]
    body: tuple[int, int] | None = None
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    returns: bool = False
    function: str = "<module>"

    def is_of(self, code: CodeType) -> bool:
        """Whether the code is the function's whose statement it is: `def f(): return x` is one of that around it, too."""
        return code.co_name == self.function or not code.co_flags & inspect.CO_OPTIMIZED

    @property
    def shown(self) -> bool:
        return bool(self.names or self.attributes)


@dataclass(slots=True)
class File:
    statements: dict[int, Statement] = field(default_factory=dict)
    claims: dict[tuple[int, str], Any] = field(default_factory=dict)
    spelled: list[tuple[int, int, ast.expr]] = field(default_factory=list)
    numbers: list[tuple[int, int, str, bool]] = field(default_factory=list)


INNER = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>", "<lambda>")
SPELL_SIZES = frozenset({"view", "reshape", "unflatten", "expand", "rearrange", "repeat"})


def spelled_sizes(tree: ast.Module) -> Iterator[tuple[int, int, ast.expr]]:
    """The sizes that functions spell out or divide for, with the function's lines: `x.view(B, self.heads, C // self.heads)`."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        lines = function.lineno, function.end_lineno or function.lineno
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
                yield *lines, node
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SPELL_SIZES:
                for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                    for size in given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]:
                        if isinstance(size, (ast.Name, ast.Attribute)):
                            yield *lines, size


def named_numbers(tree: ast.Module) -> Iterator[tuple[int, int, str, bool]]:
    """Names of numbers that need be no sizes and may be 0 or 1, with the lines of their function, and whether a loop counts
    with it. One that is computed may still be the size of an axis, where it stands alone: `c = n % 5`."""
    for function in ast.walk(tree):
        if isinstance(function, ast.Module):
            lines = 0, 0  # its functions' names are others
        elif isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = function.lineno, function.end_lineno or function.lineno
        else:
            continue
        open_ = list(function.body)
        while open_:
            node: ast.AST = open_.pop()
            if isinstance(node, (ast.For, ast.AugAssign)):
                for name in names_of(node.target):
                    yield *lines, name.id, True
            elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Call)):
                called = node.value.func if isinstance(node.value, ast.Call) else None
                for name in names_of(node.targets[0]) if called is None or isinstance(called, ast.Name) else ():
                    yield *lines, name.id, False
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                open_ += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def names_of(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from names_of(element)
    elif isinstance(target, ast.Starred):
        yield from names_of(target.value)


def attributes_of(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """What the statement gives to attributes: `self.w = ...`, `self.register_buffer("w", ...)`."""
    if isinstance(node, ast.Expr):
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield f"{ast.unparse(owner)}.{name}", ast.Attribute(owner, name, ast.Load())
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else ():
        for part in ast.walk(target):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                yield ast.unparse(part), part


def statements_of(tree: ast.Module) -> dict[int, Statement]:
    """The statement that each line belongs to."""
    found: dict[int, Statement] = {}
    functions = [each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    owners = {part: each.name for each in functions for part in ast.walk(each) if part is not each}
    behind: set[int] = set()  # lines on which a statement may be left out: `if flag: return x`
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        names: list[ast.Name] = []
        body = None
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names += names_of(target)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            names += names_of(node.target)
        elif isinstance(
            node, (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef, ast.Match)
        ):
            inner = node.body[0] if not isinstance(node, ast.Match) else node.cases[0].body[0]
            last = max(first, inner.lineno - 1)
            if isinstance(node, ast.For):
                names += names_of(node.target)
                body = (inner.lineno, node.body[-1].end_lineno or inner.lineno)
        surely = first not in behind
        statement = Statement(first, last, frozenset(name.id for name in names), body,
                              dict(attributes_of(node)) if surely else {}, surely and isinstance(node, ast.Return), owners.get(node, "<module>"))  # fmt: skip
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            blocks = [
                part
                for part in ast.iter_child_nodes(node)
                if isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case))
            ]
            behind.update(
                part.lineno
                for block in blocks
                for part in ast.walk(block)
                if isinstance(part, ast.stmt) and part.lineno <= last
            )
        for line in range(first, last + 1):
            found[line] = statement
    return found


class Claims:
    """What the inference says of each file, worked out when its code first runs."""

    def __init__(self, project: bool) -> None:
        from tensorlint.project import Project

        self.files: dict[str, File] = {}
        self.project = Project() if project else None

    def of(self, path: str) -> File:
        known = self.files.get(path)
        if known is None:
            from tensorlint.inference.analysis import analyse

            text = Path(path).read_text(encoding="utf-8")
            tree = ast.parse(text)
            known = self.files[path] = File(statements_of(tree), spelled=list(spelled_sizes(tree)))
            known.numbers += named_numbers(tree)
            if self.project is not None:
                self.project.begin(path)
            analysis = analyse(tree, text, path=path, project=self.project)
            for row in (*analysis.bindings, *analysis.attributes, *analysis.returns):
                statement = known.statements.get(row.line)
                if statement is None:
                    continue
                if statement.returns if row.kind == "return" else row.name in {*statement.names, *statement.attributes}:
                    known.claims[statement.first, row.name] = row
        return known


# -- what is true --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Score:
    """Counts of distinct assignments (file, line, name) that ran and held a tensor, and of claims that were checked."""

    models: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    ran: set[tuple[str, int, str]] = field(default_factory=set)
    known: set[tuple[str, int, str]] = field(default_factory=set)
    ranked: set[tuple[str, int, str]] = field(default_factory=set)
    full: set[tuple[str, int, str]] = field(default_factory=set)
    strides: set[tuple[str, int, str]] = field(default_factory=set)
    checks: int = 0
    wrong: dict[tuple[str, int, str], str] = field(default_factory=dict)
    unit: set[str] = field(default_factory=set)


class Frame:
    """What one activation has shown: the sizes its names stand for, and the claims that were wrong in it."""

    __slots__ = ("computed", "counting", "current", "file", "returned", "sizes", "unit", "wrong")

    def __init__(self, file: File, line: int) -> None:
        self.file = file
        numbers = [(name, counts) for first, last, name, counts in file.numbers if first <= line <= last]
        self.counting = {name for name, counts in numbers if counts}
        self.computed = {name for name, _ in numbers}
        self.current: Statement | None = None
        self.returned: Statement | None = None
        self.sizes: dict[str, int] = {}
        self.unit = False
        self.wrong: dict[tuple[str, int, str], str] = {}


class Unresolved(Exception):
    pass


_expressions: dict[str, ast.expr] = {}


def evaluate(text: str, state: Frame, local: dict[str, Any], actual: int | None) -> int:
    """A size in the user's names. A name that the frame cannot resolve takes the size it is first met with.

    What is said counts on sizes with a name to be neither 0 nor 1, and on those that are part of a sum not to be 0.
    """
    node = _expressions.get(text)
    if node is None:
        node = _expressions[text] = ast.parse(text, mode="eval").body

    def value(part: ast.expr, alone: bool = True) -> int:
        if isinstance(part, ast.Constant) and isinstance(part.value, int):
            return part.value
        if isinstance(part, ast.UnaryOp):
            return -value(part.operand, alone)
        if isinstance(part, ast.BinOp):
            alone = alone and not isinstance(part.op, ast.Add)
            left, right = value(part.left, alone), value(part.right, alone)
            if isinstance(part.op, ast.Add):
                return left + right
            if isinstance(part.op, ast.Sub):
                return left - right
            if isinstance(part.op, ast.Mult):
                return left * right
            quotient = left // right
            numbers = state.computed if isinstance(part.left, ast.BinOp) else state.counting
            if quotient < 2 and not {node.id for node in ast.walk(part) if isinstance(node, ast.Name)} <= numbers:
                state.unit = True
            return quotient
        return named(part, alone)

    def named(part: ast.expr, alone: bool) -> int:
        name = ast.unparse(part)
        found = lookup(part, local)
        if found is not None:
            if found < (2 if alone else 1) and name not in (state.counting if alone else state.computed):
                state.unit = True
            if state.sizes.setdefault(name, found) != found and not isinstance(part, ast.Name):
                state.sizes[name] = found
            return found
        if name in state.sizes:
            return state.sizes[name]
        if part is node and actual is not None:
            state.sizes[name] = actual
            if actual < 2:
                state.unit = True
            return actual
        raise Unresolved

    return value(node)


def is_unit(size: ast.expr, state: Frame, local: dict[str, Any]) -> bool:
    try:
        return evaluate(ast.unparse(size), state, local, None) in (0, 1)
    except (Unresolved, ZeroDivisionError):
        return False


def lookup(part: ast.expr, local: dict[str, Any]) -> int | None:
    """The value of a name, an attribute or an item in the frame, if it is an integer."""
    try:
        found = reach(part, local)
    except Exception:
        return None
    return int(found) if isinstance(found, int) and not isinstance(found, bool) else None


def reach(part: ast.expr, local: dict[str, Any]) -> Any:
    if isinstance(part, ast.Name):
        return local[part.id]
    if isinstance(part, ast.Attribute):
        return getattr(reach(part.value, local), part.attr)
    if isinstance(part, ast.Subscript):
        return reach(part.value, local)[ast.literal_eval(part.slice)]
    if isinstance(part, ast.Call) and ast.unparse(part.func) == "len" and "len" not in local:
        return len(reach(part.args[0], local))
    raise LookupError


def returns(frame: FrameType) -> bool:
    """Whether a function that is being left gives something back: an error leaves it from another instruction."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith(("RETURN", "YIELD", "RESUME"))


class Tracer:
    """Follows the code under `roots` line by line."""

    def __init__(self, claims: Claims, score: Score, roots: tuple[str, ...]) -> None:
        import numpy
        import torch

        self.claims, self.score, self.roots = claims, score, roots
        self.tensor, self.array = torch.Tensor, (numpy.ndarray, numpy.generic)
        self.wanted: dict[CodeType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        wanted = self.wanted.get(code)
        if wanted is None:
            path = code.co_filename
            wanted = self.wanted[code] = (
                path.startswith(self.roots) and code.co_name != "<module>" and path.endswith(".py")
            )
        if not wanted:
            return None
        at = 0 if code.co_name == "<module>" else code.co_firstlineno
        state = Frame(self.claims.of(code.co_filename), at)

        def local(frame: FrameType, event: str, value: Any) -> Callable[..., Any]:
            if event == "line":
                statement = state.file.statements.get(frame.f_lineno)
                before = state.current
                if before is not None and before.shown and statement is not before:
                    body = before.body
                    if body is None or body[0] <= frame.f_lineno <= body[1]:
                        self.check(before, frame, state)
                state.current = statement
                if statement is not None and statement.returns and statement.is_of(code):
                    state.returned = statement  # the `with` around it is left behind it
            elif event == "return":
                if state.current is not None and state.current.shown and state.current.body is None:
                    self.check(state.current, frame, state)
                if state.returned is not None and returns(frame):
                    self.check_returned(state.returned, value, frame, state)
                if state.wrong and returns(frame):
                    self.settle(state, frame)
            elif event == "exception":
                state.current = None
            return local

        return local

    def settle(self, state: Frame, frame: FrameType) -> None:
        """What is said of a function's lines is said of the calls that return."""
        line, values = frame.f_lineno, frame.f_locals
        for first, last, size in state.file.spelled if not state.unit else ():
            if first <= line <= last and is_unit(size, state, values):
                state.unit = True
                break
        for key, problem in state.wrong.items():
            if state.unit:
                self.score.unit.add(f"{within(key[0])}:{key[1]} {key[2]}: {problem}")
            else:
                self.score.wrong.setdefault(key, problem)
        state.wrong.clear()

    def check(self, statement: Statement, frame: FrameType, state: Frame) -> None:
        if frame.f_code.co_name in INNER:
            return
        values = frame.f_locals
        held = {name: values[name] for name in statement.names if name in values}
        for name, target in statement.attributes.items() if statement.is_of(frame.f_code) else ():
            if (statement.first, name) in state.file.claims:
                with contextlib.suppress(Exception):
                    held[name] = reach(target, values)
        self.check_values(statement, held, frame, state)

    def check_returned(self, statement: Statement, value: Any, frame: FrameType, state: Frame) -> None:
        if frame.f_code.co_name in INNER or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return  # on the same line; a class or a module gives nothing back
        items = value if isinstance(value, tuple) else ()
        held = {"return": value, **{f"return[{at}]": item for at, item in enumerate(items)}}
        claims = state.file.claims
        self.check_values(
            statement, {name: value for name, value in held.items() if (statement.first, name) in claims}, frame, state
        )

    def check_values(self, statement: Statement, held: dict[str, Any], frame: FrameType, state: Frame) -> None:
        path, score = frame.f_code.co_filename, self.score
        values = frame.f_locals
        for name, value in held.items():
            key = (path, statement.first, name)
            row = state.file.claims.get((statement.first, name))
            if not isinstance(value, self.tensor):
                if row is not None and key not in score.wrong:
                    problem = self.compare_array(row, value, state, values)
                    if problem:
                        state.wrong.setdefault(key, problem)
                continue
            if value.is_nested or value.layout.__str__() != "torch.strided":
                continue
            counted = row is None or row.kind == "name"
            if counted:
                score.ran.add(key)
            if row is None:
                continue
            score.checks += 1
            if counted:
                score.known.add(key)
                if row.shape is not None:
                    score.ranked.add(key)
                    if "?" not in row.shape:
                        score.full.add(key)
                if row.strides is not None:
                    score.strides.add(key)
            problem = self.compare(row, value, state, values)
            if problem and key not in score.wrong:
                state.wrong.setdefault(key, problem)

    def compare(self, row: Any, value: Any, state: Frame, values: dict[str, Any]) -> str | None:
        if row.framework == "numpy":
            return "said to be an array, is a tensor"
        shape = tuple(value.shape)
        if row.shape is not None:
            if len(row.shape) != len(shape):
                return f"shape {row.shape}, is {shape}"
            for claim, size in zip(row.shape, shape, strict=True):
                if self.differs(claim, size, state, values):
                    return f"shape {row.shape}, is {shape} {state.sizes}"
        if problem := self.compare_axes(row, shape, state, values):
            return problem
        if row.strides is not None and 0 not in shape:
            for claim, stride, size in zip(row.strides, value.stride(), shape, strict=True):
                if size != 1 and self.differs(claim, stride, state, values, bind=False):
                    return f"strides {row.strides} of {row.shape}, are {value.stride()} of {shape}"
        if row.contiguous is not None and row.contiguous != value.is_contiguous() and not (set(shape) & {0, 1}):
            return f"contiguous {row.contiguous}, strides are {value.stride()} of {shape}"
        if row.dtype is not None and f"torch.{row.dtype}" != str(value.dtype):
            return f"{row.dtype}, is {value.dtype}"
        if row.device is not None and not str(value.device).startswith(str(row.device).partition(":")[0]):
            return f"on {row.device}, is on {value.device}"
        return None

    def compare_array(self, row: Any, value: Any, state: Frame, values: dict[str, Any]) -> str | None:
        """numpy's arrays are held against what is said of them, and not counted."""
        if row.framework is None and isinstance(getattr(value, "shape", None), tuple):
            return self.compare_shaped(row, value.shape, state, values)  # a table, it may be, or a sparse matrix
        if row.framework == "torch" or not isinstance(value, self.array):
            return f"said to be {'a tensor' if row.framework == 'torch' else 'an array'}, is {type(value).__name__}"
        shape = tuple(value.shape)
        if problem := self.compare_shaped(row, shape, state, values):
            return problem
        if row.strides is not None and shape and not (set(shape) & {0, 1}):
            strides = tuple(stride // value.itemsize for stride in value.strides)
            for claim, stride in zip(row.strides, strides, strict=True):
                if self.differs(claim, stride, state, values, bind=False):
                    return f"strides {row.strides} of {row.shape}, are {strides} of {shape}"
        if row.dtype is not None and row.dtype != str(value.dtype):
            return f"{row.dtype}, is {value.dtype}"
        return None

    def compare_shaped(self, row: Any, shape: tuple[int, ...], state: Frame, values: dict[str, Any]) -> str | None:
        if row.shape is not None:
            if len(row.shape) != len(shape):
                return f"shape {row.shape}, is {shape}"
            if any(self.differs(claim, size, state, values) for claim, size in zip(row.shape, shape, strict=True)):
                return f"shape {row.shape}, is {shape} {state.sizes}"
        return self.compare_axes(row, shape, state, values)

    def compare_axes(self, row: Any, shape: tuple[int, ...], state: Frame, values: dict[str, Any]) -> str | None:
        """Single axes of a tensor of unknown rank."""
        for axis, claim in (row.axes or {}).items():
            if not -len(shape) <= axis < len(shape) or self.differs(claim, shape[axis], state, values):
                return f"axes {row.axes}, is {shape} {state.sizes}"
        return None

    def differs(self, claim: Any, size: int, state: Frame, values: dict[str, Any], *, bind: bool = True) -> bool:
        if isinstance(claim, int):
            return claim != size
        if claim == "?":
            return False
        try:
            return evaluate(claim, state, values, size if bind else None) != size
        except Unresolved:
            return False


# -- the models ----------------------------------------------------------------------------------------------------


def run_timm(name: str) -> None:
    torch, timm = (importlib.import_module(name) for name in ("torch", "timm"))

    model = timm.create_model(name, pretrained=False, num_classes=10)
    size = model.default_cfg.get("input_size", (3, 224, 224))
    image = torch.randn(2, *size)
    for mode in (False, True):
        model.train(mode)
        with torch.no_grad():
            model(image)


def run_torchvision(name: str) -> None:
    torch, torchvision = (importlib.import_module(name) for name in ("torch", "torchvision"))

    builder: Any = torchvision.models
    for part in name.split("."):
        builder = getattr(builder, part)
    keywords: dict[str, Any] = {"weights": None}
    if "segmentation" in name:
        keywords["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        keywords["init_weights"] = False
    model = builder(**keywords)
    inputs: tuple[Any, ...]
    if "video" in name:
        frames, side = (16, 224) if "mvit" in name else (16, 112)
        inputs = (torch.randn(2, 3, frames, side, side),)
    elif "optical_flow" in name:
        inputs = (torch.randn(2, 3, 128, 128), torch.randn(2, 3, 128, 128))
    else:
        side = 299 if name == "inception_v3" else 96 if "segmentation" in name else 224
        inputs = (torch.randn(2, 3, side, side),)
    for mode in (False, True):
        model.train(mode)
        with torch.no_grad():
            model(*inputs)


TINY: dict[str, Any] = {
    "vocab_size": 120, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 16, "emb_dim": 32, "d_embed": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2,
    "num_encoder_layers": 2, "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "n_heads": 4, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "d_ff": 48, "dff": 48, "n_inner": 48, "hidden_dim": 48,
    "ffn_dim": 48, "d_kv": 8, "head_dim": 8, "d_head": 8, "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64,
    "word_embed_proj_dim": 32, "num_experts": 4, "num_local_experts": 4, "moe_intermediate_size": 24, "image_size": 32, "patch_size": 8,
    "rotary_dim": 4, "type_vocab_size": 2, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "state_size": 8,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "q_lora_rank": 8, "kv_lora_rank": 8,
    "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8, "shared_expert_intermediate_size": 24, "mamba_d_state": 8,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "max_source_positions": 32, "num_mel_bins": 16,
}  # fmt: skip


def transformers_config(kind: str, stage: int) -> Any:
    """A small configuration: first with many sizes set, then with fewer."""
    cls = importlib.import_module("transformers").CONFIG_MAPPING[kind]
    default = cls()
    if stage == 0:
        given = {key: value for key, value in TINY.items() if isinstance(getattr(default, key, None), int)}
    else:
        keys = ("vocab_size", "hidden_size", "d_model", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads",
                "encoder_ffn_dim", "decoder_ffn_dim", "max_position_embeddings")  # fmt: skip
        given = {key: TINY[key] for key in keys if isinstance(getattr(default, key, None), int)}
    return cls(**given)


def run_transformers(kind: str) -> None:
    torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))

    errors = []
    for stage in range(2):
        for auto in (
            "AutoModelForCausalLM",
            "AutoModelForMaskedLM",
            "AutoModelForSeq2SeqLM",
            "AutoModelForImageClassification",
            "AutoModel",
        ):
            try:
                config = transformers_config(kind, stage)
                for key in ("use_cache", "return_dict"):
                    setattr(config, key, True)
                tracer = sys.gettrace()
                sys.settrace(None)
                try:
                    with torch.device("meta"):
                        planned = getattr(transformers, auto).from_config(config)
                finally:
                    sys.settrace(tracer)
                if sum(parameter.numel() for parameter in planned.parameters()) > 30_000_000:
                    raise MemoryError("too large")
                model = getattr(transformers, auto).from_config(config)
            except Exception as error:
                errors.append(f"{auto}: {type(error).__name__} {str(error)[:80]}")
                continue
            if attempt(torch, model, config, errors):
                return
    raise RuntimeError("; ".join(errors[-4:]))


def attempt(torch: Any, model: Any, config: Any, errors: list[str]) -> bool:
    """Run a model on what its main input is called; true if it ran."""
    kind = model.main_input_name
    length = 16
    inputs: dict[str, Any] = {}
    if kind == "pixel_values":
        side = getattr(config, "image_size", 32) or 32
        side = side[0] if isinstance(side, (list, tuple)) else side
        side = max(side, 32)
        channels = getattr(config, "num_channels", 3)
        inputs["pixel_values"] = torch.randn(2, channels, side, side)
        if type(model).__name__.startswith(("Vivit", "Timesformer", "VideoMAE")):
            inputs["pixel_values"] = torch.randn(2, getattr(config, "num_frames", 8), channels, side, side)
    elif kind == "input_values":
        inputs["input_values"] = torch.randn(2, 4000)
    elif kind == "input_features":
        bins = getattr(config, "num_mel_bins", 80)
        positions = 2 * getattr(config, "max_source_positions", 32)
        inputs["input_features"] = torch.randn(2, bins, positions)
        if type(model).__name__.startswith("Speech2Text"):
            inputs["input_features"] = torch.randn(2, positions // 2, bins)
        inputs["decoder_input_ids"] = torch.randint(5, 100, (2, 7))
    else:
        inputs["input_ids"] = torch.randint(5, 100, (2, length))
        inputs["attention_mask"] = torch.ones(2, length, dtype=torch.long)
        if getattr(config, "is_encoder_decoder", False):
            inputs["decoder_input_ids"] = torch.randint(5, 100, (2, 7))
    ran = False
    for mode, labels in ((False, False), (True, False), (False, True)):
        model.train(mode)
        given = dict(inputs)
        if labels:
            if "input_ids" not in given:
                continue
            given["labels"] = given.get("decoder_input_ids", given["input_ids"])
        try:
            with torch.no_grad():
                model(**given)
            ran = True
        except Exception as error:
            errors.append(f"{type(model).__name__}: {type(error).__name__} {str(error)[:80]}")
            if os.environ.get("TENSORLINT_DEBUG"):
                traceback.print_exc()
            if not ran:
                given.pop("attention_mask", None)
                try:
                    with torch.no_grad():
                        model(**given)
                    ran = True
                except Exception:
                    pass
    return ran


RUNNERS: dict[str, Callable[[str], None]] = {
    "timm": run_timm,
    "torchvision": run_torchvision,
    "transformers": run_transformers,
}


def prepare(library: str) -> Any:
    """Import a library. torchvision's compiled operators may be missing (a build for another device): their names are
    declared then, for none of the models here calls one."""
    import torch

    if importlib.util.find_spec("torchvision") is not None:
        try:
            importlib.import_module("torchvision")
        except (RuntimeError, ImportError):
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            stand_in: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
            for name in ("nms", "qnms"):
                stand_in.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            globals()["_stand_in"] = stand_in
            importlib.import_module("torchvision")
    return importlib.import_module(library)


def within(path: str) -> str:
    """The path below the folder that packages are installed in."""
    return path.partition(f"site-packages{os.sep}")[2] or path


def too_long(*_: Any) -> None:
    raise TimeoutError(f"takes more than {LONGEST} s")


def evaluate_library(library: str, models: list[str] | None, project: bool, verbose: bool) -> tuple[str, Score]:
    import torch

    module = prepare(library)
    names, runner = MODELS[library], RUNNERS[library]
    score = Score()
    signal.signal(signal.SIGALRM, too_long)
    root = os.path.dirname(module.__file__) + os.sep
    tracer = Tracer(Claims(project), score, (root,))
    for name in models or names:
        torch.manual_seed(0)
        begun = time.perf_counter()
        signal.alarm(LONGEST)
        sys.settrace(tracer)
        try:
            runner(name)
            score.models += 1
        except Exception as error:
            score.skipped[name] = f"{type(error).__name__}: {str(error)[:300]}"
        finally:
            sys.settrace(None)
            signal.alarm(0)
        if verbose:
            print(
                f"{name}: {time.perf_counter() - begun:.1f} s, {len(score.ran)} {score.skipped.get(name, '')}",
                file=sys.stderr,
            )
    count = len(score.ran)

    def part(found: set[tuple[str, int, str]]) -> str:
        return f"{len(found) / count:.0%}" if count else "–"

    row = (
        f"| {library} {module.__version__} | {score.models} | {count:,} | {part(score.known)} | {part(score.ranked)} | {part(score.full)} "
        f"| {part(score.strides)} | {score.checks:,} | {len(score.wrong)} |"
    )
    return row, score


def make_on(device: str) -> None:
    """Torch makes the models and their inputs there, and the inference takes each file to have said so."""
    import torch

    analysis: Any = importlib.import_module("tensorlint.inference.analysis")
    torch.set_default_device(device)
    analysis.default_device = lambda source, facts: None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(RUNNERS), action="append")
    parser.add_argument("--models", nargs="*", help="names of models, with one --only")
    parser.add_argument(
        "--project", action="store_true", help="with the other files of the package (default: each file by itself)"
    )
    parser.add_argument("--list-unknown", type=int, default=0, metavar="N", help="print N assignments of unknown rank")
    parser.add_argument("--device", help="where torch makes tensors that say nothing of a device: cuda")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if arguments.device is not None:
        make_on(arguments.device)
    head = [
        "| library | models run | assignments that gave a name a tensor | known to be a tensor | rank | full shape | strides "
        "| values compared | wrong claims |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    notes: list[str] = []
    for library in arguments.only or RUNNERS:
        row, score = evaluate_library(library, arguments.models, arguments.project, arguments.verbose)
        head.append(row)
        for (path, line, name), problem in sorted(score.wrong.items()):
            notes.append(f"- wrong: {within(path)}:{line} `{name}`: {problem}")
        for text in sorted(score.unit):
            notes.append(f"- where a named size is 0 or 1: {text}")
        if score.skipped:
            notes.append(f"- {library}, not run: " + ", ".join(sorted(score.skipped)))
            if arguments.verbose:
                for name, reason in score.skipped.items():
                    print(name, reason, file=sys.stderr)
        for path, line, name in sorted(score.ran - score.ranked)[: arguments.list_unknown]:
            print(f"{path}:{line} {name}", file=sys.stderr)
    text = "\n".join([*head, "", *notes])
    print(text)
    if arguments.store:
        import torch

        command = "python benchmarks/inference_real_models.py " + " ".join(sys.argv[1:])
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, torch {torch.__version__}, `{command}`"
        RESULT.write_text(f"# The inference beside running models\n\n{stamp}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

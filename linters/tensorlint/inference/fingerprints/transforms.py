"""Which calls are caching transforms of a `datasets` dataset, and what goes into their fingerprints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.foreign_datasets import is_foreign
from tensorlint.inference.fingerprints.survey import constant, keyword
from tensorlint.inference.fingerprints.values import Value


@dataclass(frozen=True, slots=True)
class Transform:
    """One call: `method` is map, filter or from_generator; `arguments` are what else its fingerprint reads."""

    call: ast.Call
    method: str
    receiver: Value
    function: ast.expr | None
    arguments: tuple[tuple[str, ast.expr], ...]


def caching_is_off(evaluator: Evaluator) -> bool:
    """`disable_caching()` anywhere in the file."""
    for call in evaluator.names.calls:
        name = last_name(call.func)
        if name == "disable_caching" or (name == "set_caching_enabled" and constant((*call.args, None)[0]) is False):
            return True
    return False


def transforms(evaluator: Evaluator) -> Iterator[Transform]:
    """The transforms of a file whose result is kept under a fingerprint, in the order of the source."""
    for call in evaluator.names.calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        method = call.func.attr
        if method in dataset_words.TRANSFORMS:
            unbound = _is_unbound(call, evaluator)
            receiver = evaluator.value(call.args[0]) if unbound else _receiver(call, evaluator)
            if receiver is None or receiver.stream or (unbound and receiver.kind != "dataset"):
                continue
            given = keyword(call, "new_fingerprint")
            if given is not None and constant(given) is ...:
                # The fingerprint is what the caller says: only that can move.
                yield Transform(call, method, replace(receiver, parents=()), None, (("new_fingerprint", given),))
                continue
            if _is_uncached(call, evaluator):
                continue
            if _guarded_by_streaming(call, evaluator):
                continue
            positional = call.args[unbound:]
            function = positional[0] if positional else keyword(call, "function")
            yield Transform(call, method, receiver, function, tuple(_arguments(call, evaluator)))
        elif method == "from_generator":
            owner = evaluator.value(call.func)
            if owner.dotted.startswith("datasets.") and owner.dotted.endswith("Dataset.from_generator"):
                if "Iterable" in owner.dotted or constant(keyword(call, "keep_in_memory")) is True:
                    continue
                function = call.args[0] if call.args else keyword(call, "generator")
                given = keyword(call, "gen_kwargs")
                if keyword(call, "fingerprint") is None:
                    yield Transform(
                        call, method, owner, function, (("gen_kwargs", given),) if given is not None else ()
                    )


def _is_unbound(call: ast.Call, evaluator: Evaluator) -> bool:
    """`Dataset.map(ds, f)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is None or not call.args or last_name(owner) not in ("Dataset", "DatasetDict"):
        return False
    dotted = evaluator.value(owner).dotted
    return dotted.startswith("datasets.") and dotted.endswith(("Dataset", "DatasetDict"))


def _receiver(call: ast.Call, evaluator: Evaluator) -> Value | None:
    assert isinstance(call.func, ast.Attribute)
    keywords = {given.arg for given in call.keywords if given.arg}
    if keywords & dataset_words.FOREIGN_KEYWORDS:
        return None
    node = call.func.value
    value = evaluator.value(node)
    if value.kind == "dataset":
        if value.dotted == "parameter" and not keywords & (
            dataset_words.DATASET_KEYWORDS | dataset_words.SHARED_KEYWORDS
        ):
            return value if _takes_a_function(call, evaluator) and not is_foreign(call, evaluator) else None
        if value.dotted == "parameter" and not keywords & dataset_words.DATASET_KEYWORDS:
            return None if is_foreign(call, evaluator) else value
        return value
    if value.kind not in ("unknown", "external") or not evaluator.imports_datasets:
        return None
    if value.kind == "external" and not value.dotted.startswith("datasets."):
        root = value.dotted.split(".")[0]
        if root in (
            "torch",
            "tensorflow",
            "numpy",
            "pandas",
            "concurrent",
            "multiprocessing",
            "ray",
            "pyarrow",
            "polars",
        ):
            return None
    if keywords & (dataset_words.DATASET_KEYWORDS - {"remove_columns"}):
        return value
    if re.match(dataset_words.DATASET_NAME, _spelled(node)) and not evaluator.other_datasets:
        proved = keywords & (dataset_words.SHARED_KEYWORDS | {"remove_columns"}) or _takes_a_function(call, evaluator)
        return value if proved and not is_foreign(call, evaluator) else None
    return None


def _spelled(node: ast.expr) -> str:
    """The last name of a receiver: `dataset` of `self.dataset` and of `dataset["train"]`."""
    if isinstance(node, ast.Subscript):
        return _spelled(node.value) if isinstance(node.slice, (ast.Constant, ast.Name)) else ""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _takes_a_function(call: ast.Call, evaluator: Evaluator) -> bool:
    first = call.args[0] if call.args else keyword(call, "function")
    if first is None:
        return False
    return isinstance(first, ast.Lambda) or evaluator.value(first).callable


def _is_uncached(call: ast.Call, evaluator: Evaluator) -> bool:
    given: dict[str, object] = {}
    for part in call.keywords:
        if part.arg is not None:
            given[part.arg] = constant(part.value)
        else:
            given |= evaluator.unpacked(part.value)
    return (
        given.get("load_from_cache_file") is False
        or given.get("keep_in_memory") is True
        or given.get("new_fingerprint") is not None
        or given.get("cache_file_name") is not None
        or given.get("cache_file_names") is not None
        or given.get("streaming") is True
    )


def _guarded_by_streaming(call: ast.Call, evaluator: Evaluator) -> bool:
    """Inside `if isinstance(ds, IterableDataset):` or `if streaming:` nothing is cached."""
    node: ast.AST = call
    while node in evaluator.names.parents:
        parent = evaluator.names.parents[node]
        if isinstance(parent, ast.If) and node in parent.body:
            text = ast.unparse(parent.test)
            positive = not text.startswith("not ")
            if positive and ("Iterable" in text or re.search(r"\bstreaming\b", text)):
                return True
        if isinstance(parent, ast.If) and node in parent.orelse:
            text = ast.unparse(parent.test)
            if text.startswith("not ") and re.search(r"Iterable|\bstreaming\b", text):
                return True
        node = parent
    return False


def _arguments(call: ast.Call, evaluator: Evaluator) -> Iterator[tuple[str, ast.expr]]:
    entering = ("fn_kwargs", "remove_columns", "input_columns", "features")
    for given in call.keywords:
        if given.arg in entering:
            yield given.arg, given.value
        elif given.arg is None:
            value = evaluator.value(given.value)
            if isinstance(value.node, ast.Dict):
                for key, entry in zip(value.node.keys, value.node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in entering:
                        yield str(key.value), entry

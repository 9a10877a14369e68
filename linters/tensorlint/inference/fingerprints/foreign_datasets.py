"""Datasets of other libraries under the same names: what `.prefetch(1)` is called on is of tensorflow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints.evaluation import Evaluator


def is_foreign(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether what a transform is called on, or what it gives, is used as no dataset of `datasets` can be."""
    if _is_foreign_chain(call, evaluator):
        return True
    function = evaluator.names.enclosing_function(call)
    if function is None:
        return False
    if any(_is_used_as_foreign(made, evaluator) for made in evaluator.calls_of(function)):
        return True
    inside = [each for each in evaluator.names.calls if evaluator.names.enclosing_function(each) is function]
    methods = {each.func.attr for each in inside if isinstance(each.func, ast.Attribute)}
    if dataset_words.INTO_TENSORFLOW & methods or not dataset_words.FOREIGN_METHODS & methods:
        return False
    known = _aliases(_root(call), function)
    return any(_root(each) in known and _is_foreign_chain(each, evaluator) for each in inside)


def _is_foreign_chain(call: ast.Call, evaluator: Evaluator) -> bool:
    return any(_is_foreign_call(each) for each in _below(call)) or _is_used_as_foreign(call, evaluator)


def _is_foreign_call(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in dataset_words.FOREIGN_METHODS:
        return True
    return any(given.arg == "num_parallel_calls" for given in call.keywords)


def _is_used_as_foreign(call: ast.Call, evaluator: Evaluator) -> bool:
    """`dataset.map(f).batch(3).prefetch(1)`: through methods that both have, to one that only the others have."""
    node: ast.AST = call
    while True:
        attribute = evaluator.names.parents.get(node)
        above = evaluator.names.parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
        if not isinstance(attribute, ast.Attribute) or not isinstance(above, ast.Call) or above.func is not attribute:
            return False
        if _is_foreign_call(above):
            return True
        if attribute.attr not in dataset_words.SAME_KIND:
            return False
        node = above


def _below(call: ast.Call) -> Iterator[ast.Call]:
    """The call and those that made what it is called on."""
    node: ast.expr = call
    while isinstance(node, ast.Call):
        yield node
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func


def _root(node: ast.expr) -> str:
    """`dataset` of `dataset.shuffle(9).map(f)`, `self.dataset` of `self.dataset.map(f)`."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _aliases(root: str, function: ast.AST) -> set[str]:
    """The names that hold what the calls on `root` give, in one function."""
    known = {root} - {""}
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    for node in sorted(assigned, key=lambda node: node.lineno):
        if _root(node.value) in known:
            known.add(ast.unparse(node.targets[0]))
    return known

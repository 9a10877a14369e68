"""M9 and M11: the other direction. The fingerprint stays although the result would change, and old rows are served."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.captures import Found
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.transforms import Transform


def stale(transform: Transform, evaluator: Evaluator, by_value: bool) -> Iterator[Found]:
    """What the function depends on and the fingerprint does not."""
    if transform.function is None:
        return
    value = evaluator.value(transform.function)
    name = ast.unparse(transform.function) if isinstance(transform.function, (ast.Name, ast.Attribute)) else "lambda"
    if value.kind == "module" and isinstance(value.node, ast.ImportFrom) and value.node.level:
        reason = f"{name} is imported, so it is hashed by its name: edits of its code do not refresh the cache"
        yield Found("M9", name, (name,), reason, value.node)
    if isinstance(value.node, (ast.FunctionDef, ast.Lambda)) and value.kind == "function":
        for node in ast.walk(value.node):
            read = _reads_outside(node, evaluator)
            if read:
                done = "is read" if read == "os.environ" else "is called"
                reason = f"{read} {done} while mapping, and what it gives is not part of the hash"
                yield Found("M11", read, (name, read), reason, node)
                return


def _reads_outside(node: ast.AST, evaluator: Evaluator) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        base = evaluator.value(node.value)
        return "os.environ" if base.kind == "module" and base.dotted == "os.environ" else ""
    if not isinstance(node, ast.Call):
        return ""
    called = evaluator.value(node.func)
    if called.kind != "module":
        return ""
    dotted = called.dotted
    if dotted in ("os.environ.get", "os.getenv", "open") or dotted in words.DIFFERS_EVERY_RUN:
        return dotted
    drawn = any(dotted.startswith(prefix) and dotted[len(prefix) :] in names for prefix, names in words.GLOBAL_DRAWS)
    return dotted if drawn else ""

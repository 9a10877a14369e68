"""TSR402: a fingerprint of `datasets` that depends on PYTHONHASHSEED."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference.hazards import MapHashSeedHazard
from tensorlint.rules.rule import Example, Rule

if TYPE_CHECKING:
    import libcst

# The rows that every example works on.
_ROWS = """import os
from datasets import Dataset
ds = Dataset.from_dict({"text": ["alpha beta", "gamma"], "label": ["pos", "neg"], "n": [1, 2]})
"""


class HashSeedDependentMap(Rule[MapHashSeedHazard]):
    """Python orders the strings in a set by hashes that are salted anew in every process. `datasets` sorts a plain set
    before it hashes it, but not a frozenset, and it cannot sort what was listed from a set before.

    `word in {"the", "a", "an"}` is the surprising one: the compiler stores that set as a frozenset constant of the
    function's code, so the bytes of the code, and with them the fingerprint of `map(f)`, are others in every process.
    The result is computed again on every run and on every rank, a new cache file is written each time, and no warning
    appears. The same holds for a set in a helper that the function calls.

    A tuple in the membership test has the same meaning and keeps the fingerprint. A captured `frozenset` becomes a
    `set`, and `list(set(labels))` becomes `sorted(set(labels))`.

    The rule is silent for sets of numbers, for a set of a single string, for plain sets that are captured, and for a
    set that is sorted or counted before it is used.
    """

    code = "TSR402"
    name = "hash-seed-dependent-map"
    summary = "the fingerprint of a cached transform of datasets depends on PYTHONHASHSEED"
    hazard = MapHashSeedHazard
    reads_node = False
    flagged = (
        Example(
            _ROWS
            + """def keep(word):
    return word not in {"the", "a", "an", "of", "in"}

def clean(ex):
    return {"t": " ".join(w for w in ex["text"].split() if keep(w))}

out = ds.map(clean)
""",
            fixed=_ROWS
            + """def keep(word):
    return word not in ("the", "a", "an", "of", "in")

def clean(ex):
    return {"t": " ".join(w for w in ex["text"].split() if keep(w))}

out = ds.map(clean)
""",
            note="not in, in a helper of the function",
        ),
        Example(
            _ROWS
            + """out = ds.filter(lambda ex: ex["label"] in {"pos", "neg", "neutral", "mixed", "none"})
""",
            fixed=_ROWS
            + """out = ds.filter(lambda ex: ex["label"] in ("pos", "neg", "neutral", "mixed", "none"))
""",
            note="membership in a set literal",
        ),
        Example(
            _ROWS
            + """def count(ex):
    n = 0
    for mark in {".", ",", ";", "!", "?"}:
        n += ex["text"].count(mark)
    return {"t": n}

out = ds.map(count)
""",
            note="loop over a set literal",
        ),
        Example(
            _ROWS
            + """def count(ex):
    stop = {"alpha", "beta", "gamma", "delta", "eps"}
    return {"t": sum(w in stop for w in ex["text"].split())}

out = ds.map(count)
""",
            note="set of five strings bound in the function",
        ),
        Example(
            _ROWS
            + """class Prep:
    def known(self, w):
        return w in {"alpha", "beta", "gamma", "delta", "eps"}

    def cut(self, ex):
        return {"t": sum(self.known(w) for w in ex["text"].split())}

out = ds.map(Prep().cut)
""",
            fixed=_ROWS
            + """class Prep:
    def known(self, w):
        return w in ("alpha", "beta", "gamma", "delta", "eps")

    def cut(self, ex):
        return {"t": sum(self.known(w) for w in ex["text"].split())}

out = ds.map(Prep().cut)
""",
            note="set literal in another method of the class",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": (ex["label"], "x") in {("pos", "x"), ("neg", "y"), ("a", "b"), ("c", "d")}})
""",
            fixed=_ROWS
            + """out = ds.map(lambda ex: {"t": (ex["label"], "x") in (("pos", "x"), ("neg", "y"), ("a", "b"), ("c", "d"))})
""",
            note="set of pairs of strings",
        ),
        Example(
            _ROWS
            + """STOP = frozenset(["the", "a", "an", "of", "in"])
out = ds.map(lambda ex: {"t": [w for w in ex["text"].split() if w not in STOP]})
""",
            note="captured frozenset",
        ),
        Example(
            _ROWS
            + """def clean(ex, stop=frozenset({"the", "a", "an", "of", "in"})):
    return {"t": [w for w in ex["text"].split() if w not in stop]}

out = ds.map(clean)
""",
            note="frozenset default",
        ),
        Example(
            _ROWS
            + """def clean(ex, stop):
    return {"t": [w for w in ex["text"].split() if w not in stop]}

out = ds.map(clean, fn_kwargs={"stop": frozenset("the a an of in".split())})
""",
            note="frozenset in fn_kwargs",
        ),
        Example(
            _ROWS
            + """vocab = list({"the", "a", "an", "of", "in"})
out = ds.map(lambda ex: {"t": [vocab.index(w) for w in ex["text"].split() if w in vocab]})
""",
            note="list of a set of words",
        ),
        Example(
            _ROWS
            + """rows = Dataset.from_dict({"label": ["pos", "neg", "neutral", "mixed", "none"]})
label2id = {label: i for i, label in enumerate(set(rows["label"]))}
out = rows.map(lambda ex: {"id": label2id[ex["label"]]})
""",
            note="label ids numbered over a set",
        ),
        Example(
            _ROWS
            + """words = {w for text in ["the cat", "a dog", "of mice", "and men"] for w in text.split()}
index = dict(zip(words, range(len(words))))

def encode(ex):
    return {"ids": [index.get(w, -1) for w in ex["text"].split()]}

out = ds.map(encode)
""",
            note="vocabulary from a set comprehension",
        ),
        Example(
            _ROWS
            + """import re
MARKS = {"alpha", "beta", "gamma", "delta", "eps"}
pattern = re.compile("|".join(MARKS))
out = ds.map(lambda ex: {"t": bool(pattern.search(ex["text"]))})
""",
            note="pattern joined from a set",
        ),
        Example(
            _ROWS
            + """wide = Dataset.from_dict({"a": [1], "b": [2], "c": [3], "d": [4], "text": ["x"]})
out = wide.map(lambda ex: {"t": 1}, remove_columns=list(set(wide.column_names) - {"text"}))
""",
            note="columns to remove, listed from a set",
        ),
        Example(
            _ROWS
            + """wide = Dataset.from_dict({"a": [1], "b": [2], "c": [3], "d": [4], "text": ["x"]})
narrow = wide.remove_columns(list(set(wide.column_names) - {"text"}))
out = narrow.map(lambda ex: {"t": 1})
""",
            note="columns removed upstream in the order of a set",
        ),
        Example(
            _ROWS
            + """bucket = hash("alpha")
out = ds.map(lambda ex: {"t": bucket})
""",
            note="hash of a string",
        ),
    )
    silent = (
        Example(
            _ROWS
            + """STOP = {"the", "a", "an", "of", "in"}
out = ds.map(lambda ex: {"t": [w for w in ex["text"].split() if w not in STOP]})
""",
            note="plain set of strings",
        ),
        Example(
            _ROWS
            + """def clean(ex):
    stop = set(["the", "a", "an", "of", "in"])
    return {"t": [w for w in ex["text"].split() if w not in stop]}

out = ds.map(clean)
""",
            note="set call on a list in the function",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": ex["label"] in ("pos", "neg", "neutral", "mixed")})
""",
            note="tuple membership",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": ex["label"] in ["pos", "neg", "neutral", "mixed"]})
""",
            note="list membership",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": len(ex["text"]) in {1, 2, 3, 5, 8}})
""",
            note="set of numbers",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": ex["label"] in {"pos"}})
""",
            note="set of one string",
        ),
        Example(
            _ROWS
            + """PRIMES = frozenset([2, 3, 5, 7, 11])
out = ds.map(lambda ex: {"t": len(ex["text"]) in PRIMES})
""",
            note="frozenset of numbers",
        ),
        Example(
            _ROWS
            + """vocab = sorted({"the", "a", "an", "of", "in"})
out = ds.map(lambda ex: {"t": [vocab.index(w) for w in ex["text"].split() if w in vocab]})
""",
            note="sorted set of words",
        ),
        Example(
            _ROWS
            + """vocab = list({"the", "a", "an", "of", "in"})
vocab.sort()
out = ds.map(lambda ex: {"t": len(vocab)})
""",
            note="list of a set, then sorted in place",
        ),
        Example(
            _ROWS
            + """label2id = {label: i for i, label in enumerate(sorted(set(ds["label"])))}
out = ds.map(lambda ex: {"id": label2id[ex["label"]]})
""",
            note="label ids over a sorted set",
        ),
        Example(
            _ROWS
            + """labels = list(set(ds["label"]))
count = len(labels)
out = ds.map(lambda ex: {"id": count})
""",
            note="number of labels",
        ),
        Example(
            _ROWS
            + """sizes = {w: len(w) for w in {"the", "a", "an", "of", "in"}}
out = ds.map(lambda ex: {"t": sizes.get(ex["text"], 0)})
""",
            note="dict keyed over a set",
        ),
        Example(
            _ROWS
            + """sizes = list({3, 1, 2, 99})
out = ds.map(lambda ex: {"t": sizes[0]})
""",
            note="list of a set of numbers",
        ),
        Example(
            _ROWS
            + """known = dict.fromkeys({"the", "a", "an", "of", "in"}, True)
out = ds.map(lambda ex: {"t": ex["text"] in known})
""",
            note="dict.fromkeys of a set",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": 1}, remove_columns=sorted(set(ds.column_names) - {"text"}))
""",
            note="columns removed as a sorted list",
        ),
        Example(
            _ROWS
            + """out = ds.map(lambda ex: {"t": 1}, remove_columns=[c for c in ds.column_names if c != "text"])
""",
            note="columns removed as they are",
        ),
    )

    def judge(self, hazard: MapHashSeedHazard, node: libcst.CSTNode) -> str | None:
        where = f"{hazard.path}: " if hazard.path else ""
        return f"{where}{hazard.reason}: {hazard.method} takes a new fingerprint in every process; {hazard.remedy}"

    def fix_target(self, hazard: MapHashSeedHazard) -> ast.AST:
        return hazard.set_node or hazard.node

    def fix(self, hazard: MapHashSeedHazard, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """The set of a membership test becomes a tuple of the same elements in the same places."""
        import libcst

        if not hazard.membership or not isinstance(node, libcst.Set):
            return None
        return libcst.Tuple(
            elements=node.elements,
            lpar=[*node.lpar, libcst.LeftParen(whitespace_after=node.lbrace.whitespace_after)],
            rpar=[libcst.RightParen(whitespace_before=node.rbrace.whitespace_before), *node.rpar],
        )

"""What holds something, what changes it, by way of whom, and how it is read: crossed at random, and each program run.

A program puts a tensor into one thing after another, changes one of these by one of many ways, and looks at all of them.
"""

from __future__ import annotations

import ast
import random
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

HEAD = """\
import asyncio, collections, contextlib, copy, functools, itertools, operator, os, types
import torch
k = os.environ.get("NOT_SET")
class Obj:
    def __init__(self, w): self.w = w
    def put(self, v): self.w = v
    def get(self): return self.w
    @property
    def shown(self): return self.w
def kept(f):
    return lambda *given: f(*given)
def given(r): return r
"""
# How what something holds is read, by its kind: `@` stands for it.
READ = {
    "list": [
        "@[0]", "@[-1]", "next(iter(@))", "[*@][0]", "list(@)[0]", "@.__getitem__(0)", "@[:][0]", "copy.copy(@)[0]", "@[k or 0]",
        "list(map(given, @))[0]", "list(zip(@))[0][0]", "[q for q in @][0]", "(lambda a, *b: a)(*@)", "operator.itemgetter(0)(@)",
        "max(@, key=id)", "(@ + [])[0]", "(@ * 2)[0]", "next(q for q in @)", "(k or @[0])", "(@[0] if k is None else None)",
        "itertools.chain(@).__next__()", "kept(given)(@)[0]",
    ],
    "dict": [
        '@["k"]', '@.get("k")', "list(@.values())[0]", "next(iter(@.values()))", 'dict(@)["k"]', '{**@}["k"]', '(@ | {})["k"]',
        '(lambda **kw: kw["k"])(**@)', "[v for _, v in @.items()][0]", '@.setdefault("k", None)', '@[k or "k"]',
        'types.SimpleNamespace(**@).k', 'copy.copy(@)["k"]', 'dict(**@)["k"]',
    ],
    "object": [
        "@.w", 'getattr(@, "w")', 'vars(@)["w"]', '@.__dict__["w"]', "copy.copy(@).w", 'getattr(@, k or "w")', "(k or @).w",
        'getattr(@, "w", None)', "@.get()", "@.shown", 'operator.attrgetter("w")(@)',
    ],
    "function": ["@()", "(lambda f: f())(@)", "list(map(lambda f: f(), [@]))[0]", "functools.partial(@)()", "(k or @)()"],
}  # fmt: skip
# How `c` gets to hold `e`.
HOLD = [
    ("list", "c = [e]"), ("list", "c = [e] * 2"), ("list", "c = [q for q in [e]]"), ("list", "c = []\nc.append(e)"),
    ("list", "c = []\nc.extend([e])"), ("list", "c = []\nc += [e]"), ("list", "c = []\nc.insert(0, e)"), ("list", "c = []\nc[0:0] = [e]"),
    ("list", "c = [None]\nc[0] = e"), ("list", "c = [None] * 2\nfor i in range(2):\n    c[i] = e"), ("list", "c = []\nlist(map(c.append, [e]))"),
    ("list", "c = collections.deque([e])"), ("list", "c = (lambda *a: list(a))(e)"), ("list", "c = []\nif k is None:\n    c.append(e)"),
    ("list", "c = []\nadd = c.append\nadd(e)"), ("list", "c = []\n[c.append(q) for q in [e]]"), ("list", "*c, = (e,)"),
    ("list", "(c := []).append(e)"), ("list", "c = []\nc.__iadd__([e])"), ("list", "c = [None]\nfor c[0] in [e]: pass"),
    ("list", "d = {}\nd.setdefault('k', []).append(e)\nc = d['k']"), ("list", "c = []\n@kept\ndef fill(r): r.append(e)\nfill(c)"),
    ("dict", 'c = {"k": e}'), ("dict", "c = dict(k=e)"), ("dict", 'c = {}\nc["k"] = e'), ("dict", "c = {}\nc.update(k=e)"),
    ("dict", 'c = {}\nc |= {"k": e}'), ("dict", "c = {a: e for a in 'k'}"), ("dict", "c = dict(zip('k', [e]))"),
    ("dict", "c = {}\nfor a in 'kl':\n    c[a] = e"), ("dict", "c = vars(Obj(e))\nc['k'] = c['w']"), ("dict", "c = {'k': None} | {'k': e}"),
    ("object", "c = Obj(e)"), ("object", "c = Obj(None)\nc.w = e"), ("object", "c = Obj(None)\nc.put(e)"), ("object", "c = Obj(*[e])"),
    ("object", "c = Obj(None)\nvars(c)['w'] = e"), ("object", "c = Obj(None)\nfor c.w in [e]: pass"), ("object", "c = copy.copy(Obj(e))"),
    ("function", "c = lambda: e"), ("function", "def c(r=e): return r"), ("function", "c = functools.partial(given, e)"),
    ("function", "@kept\ndef c(): return e"), ("function", "c = functools.partial([e].__getitem__, 0)"), ("function", "c = Obj(e).get"),
    ("function", "def c(n=1):\n    if n: return c(n - 1)\n    return e"),
]  # fmt: skip
# What changes each: `<f>` is something of another shape.
CHANGE = {
    "tensor": ["@.unsqueeze_(0)", "@.resize_(3, 4)", "@.data = torch.zeros(5, 2)", "torch.Tensor.unsqueeze_(@, 0)",
               'setattr(@, "data", torch.zeros(4, 4))', "torch.ones(5, 5, out=@)", 'getattr(@, "unsqueeze_")(0)', "@.set_(torch.zeros(6))"],
    "list": ["@[0] = <f>", "@.append(<f>)", "@.insert(0, <f>)", "@[:] = [<f>]", "@.__setitem__(0, <f>)", "operator.setitem(@, 0, <f>)",
             "@.__iadd__([<f>])", "operator.iadd(@, [<f>])", "[@.append(q) for q in [<f>]]", "for @[0] in [<f>]: pass", "@[k or 0] = <f>",
             "list(map(@.append, [<f>]))", "k or @.append(<f>)"],
    "dict": ['@["k"] = <f>', "@.update(k=<f>)", 'for @["k"] in [<f>]: pass', '@[k or "k"] = <f>', "dict.update(@, k=<f>)",
             '@.__ior__({"k": <f>})', '@["z"] = <f>'],
    "object": ["@.w = <f>", 'setattr(@, "w", <f>)', 'vars(@)["w"] = <f>', "@.put(<f>)", "@.w, _ = <f>, 1", "Obj.put(@, <f>)",
               "list(map(@.put, [<f>]))", "@.__init__(<f>)"],
}  # fmt: skip
# By way of whom: `<c:q>` is the change, of what `q` stands for; `{e}` the thing itself, `{f}` another of its kind.
WAY = [
    "<c:{e}>", "q = {e}\n<c:q>", "def work(q):\n    <c:q>\nwork({e})", "def work(q, n=1):\n    if n: return work(q, n - 1)\n    <c:q>\nwork({e})",
    "@kept\ndef work(q):\n    <c:q>\nwork({e})", "@kept\ndef work():\n    <c:{e}>\nwork()", "for q in [{e}]:\n    <c:q>",
    "@kept\ndef work(r):\n    for q in r:\n        <c:q>\nwork([{e}])", "@kept\ndef work(r):\n    q = r.w\n    <c:q>\nwork(Obj({e}))",
    "def work(q):\n    <c:q>\nlist(map(work, [{e}]))", "def work():\n    <c:{e}>\n    yield 1\nlist(work())", "r = iter([{e}])\nq = next(r)\n<c:q>",
    "def work(q):\n    <c:q>\nfunctools.partial(work, {e})()", "with contextlib.nullcontext({e}) as q:\n    <c:q>", "match {e}:\n    case q:\n        <c:q>",
    "class Work:\n    def __del__(self):\n        <c:{e}>\nWork()", "class Work:\n    def __len__(self):\n        <c:{e}>\n        return 1\nlen(Work())",
    "@contextlib.contextmanager\ndef work():\n    yield\n    <c:{e}>\nwith work(): pass", "async def work(q):\n    <c:q>\nasyncio.run(work({e}))",
    "@kept\ndef take():\n    return {e}\nq = take()\n<c:q>", "q = {e} if k is None else {f}\n<c:q>", "q = k or {e}\n<c:q>",
    "q = None\nif k is None:\n    q = {e}\n<c:q>", "def work(a, b):\n    q = a if k is None else b\n    <c:q>\nwork({e}, {f})",
    "def outer():\n    q = {e}\n    def inner():\n        <c:q>\n    inner()\nouter()",
    "def outer():\n    q = None\n    def inner():\n        nonlocal q\n        q = {e}\n    inner()\n    <c:q>\nouter()",
    "global gg\ngg = {e}\ndef work():\n    q = gg\n    <c:q>\nwork()", "r = [{e}]\nwhile r:\n    q = r.pop()\n    <c:q>",
    "q = {f}\nfor i in range(2):\n    if i:\n        <c:q>\n    q = {e}", "def gen():\n    q = yield\n    <c:q>\n    yield\ng = gen(); next(g); g.send({e})",
    "def gen():\n    yield {e}\nfor q in gen():\n    <c:q>", "(q := {e})\n<c:q>", "*_, q = [{e}]\n<c:q>", "q = [r for r in [{e}]][0]\n<c:q>",
]  # fmt: skip
BOUND = ("work", "Work", "take", "outer", "inner", "gen", "gg", "fill", "add", "d")


def numbered(code: str, names: tuple[str, ...], number: int) -> str:
    """The code with other names: each step of a program has its own."""
    return re.sub(rf"(?<![\w\".'])({'|'.join(names)})\b(?!=)", rf"\g<1>{number}", code)


def of_another_shape(kind: tuple[Any, ...]) -> str:
    text = "torch.zeros(3, 3)"
    for each in reversed(kind):
        text = {
            "list": f"[{text}]",
            "dict": f'{{"k": {text}}}',
            "object": f"Obj({text})",
            "function": f"(lambda: {text})",
        }[each]
    return text


class Program:
    """`held` are the things so far: what they are, from outside in, and how they are called."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps = ["v = torch.zeros(2)"]
        self.held: list[tuple[tuple[str, ...], str]] = [((), "v")]
        for _ in range(self.random.randint(1, 3)):
            self.hold()
        for _ in range(self.random.randint(1, 2)):
            self.change()
        for _ in range(4):
            self.look(*self.random.choice(self.held))
        self.look((), "v")

    def hold(self) -> None:
        kind, thing = self.random.choice(self.held)
        outer, code = self.random.choice(HOLD)
        name = f"c{len(self.steps)}"
        code = numbered(re.sub(r"\bc\b", name, code), BOUND, len(self.steps))
        self.steps.append(re.sub(r"(?<![\w.'])e\b", lambda _: thing, code))
        self.held.append(((outer, *kind), name))

    def part(self, kind: tuple[str, ...], thing: str, *, deep: float) -> tuple[tuple[str, ...], str]:
        """The thing, or something that it holds."""
        while kind and (kind[0] == "function" or self.random.random() < deep):
            thing = self.random.choice(READ[kind[0]]).replace("@", thing)
            kind = kind[1:]
        return kind, thing

    def change(self) -> None:
        kind, thing = self.part(*self.random.choice(self.held), deep=0.4)
        change = self.random.choice(CHANGE[kind[0] if kind else "tensor"])
        change = change.replace("<f>", of_another_shape(kind[1:]))
        way = numbered(self.random.choice(WAY), BOUND, len(self.steps))
        way = way.replace("{e}", thing).replace("{f}", of_another_shape(kind))
        before, _, rest = way.partition("<c:")
        changed, _, after = rest.partition(">")
        self.steps.append(before + change.replace("@", changed) + after)

    def look(self, kind: tuple[str, ...], thing: str) -> None:
        name = f"y{len(self.steps)}"
        if kind and kind[0] in ("list", "dict") and self.random.random() < 0.3:
            self.steps.append(f"{name} = torch.zeros(len({thing}))")
        else:
            self.steps.append(f"{name} = {self.part(kind, thing, deep=1)[1]} * 1")

    def text(self) -> str:
        body = "\n".join(self.steps) + "\n"
        if self.random.random() < 0.5:
            return HEAD + body
        return HEAD + "def main():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "main()\n"


def runs(program: str) -> bool:
    """Whether the program comes to its end: not everything can be read and changed in every way."""
    try:
        exec(compile(program, "program", "exec"), {"__name__": __name__})
    except Exception:
        return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, 600, 100))
def test_nothing_wrong_is_said_of_what_is_held_and_changed(start: int, tmp_path: Path) -> None:
    ran = 0
    for seed in range(start, start + 100):
        program = Program(seed).text()
        if runs(program):
            ran += 1
            assert wrong_claims(tmp_path / f"program{seed}.py", program) == {}, f"seed {seed}\n{program[len(HEAD) :]}"
    assert ran > 70


# Bodies of functions that are not followed, by what they change of `rows`, which other things hold.
BODIES = {
    "c = [rows]": [
        "c[0].append(2)", "for q in c: q.append(2)", "for i, q in enumerate(c): q.append(2)", "q, _ = c[0], 1\nq.append(2)",
        "next(iter(c)).append(2)", "(k or c[0]).append(2)", "*_, q = c\nq.pop()", "c[0] += [1]", "c[0][0], c[0][1:] = 1, [2, 3]",
    ],
    "c = {'k': rows}": ["c['k'].append(2)", "c.get('k').append(2)", "for q in c.values(): q.append(2)"],
    "c = (rows,)": ["c[0].append(2)", "[q.append(2) for q in c]"],
    "c = Obj([rows])": ["c.w[0].append(2)", "q = c.w\nq[0].append(2)", "c.shown[0].append(1)", "c.get()[0].append(1)", "vars(c)['w'][0].append(1)"],
    "c = [Obj([rows])]": ["c[0].w[0].append(2)"],
    "c = lambda: rows": ["c().append(2)", "list(map(lambda f: f(), [c]))[0].append(2)"],
    "def c(r=rows): return r": ["c().append(2)"],
    "c = functools.partial(given, rows)": ["c().append(2)"],
    "pass": [
        "(rows if k is None else []).append(2)", "[q.append(2) for q in [rows]]", "(q := rows).append(2)", "a = rows\nb = a\nb.append(1)",
        "match rows:\n    case q: q.append(2)", "q = (lambda r=rows: r)()\nq.append(2)", "def inner(r=rows):\n    r.append(1)\ninner()",
        "a = None\nfor i in range(3):\n    if a: a.append(1)\n    a = b if i else None\n    b = rows", "add = rows.append\nadd(1)",
        "list(map(rows.append, [1]))", "rows.__iadd__([1])", "def inner():\n    global shared\n    shared = rows\ninner()\nshared.append(1)",
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("holds", "body"), [(holds, body) for holds, bodies in BODIES.items() for body in bodies])
def test_what_a_function_changes_that_is_not_followed(holds: str, body: str, tmp_path: Path) -> None:
    within = "".join(f"    {line}\n" for line in body.splitlines())
    program = f"{HEAD}rows = [1, 2]\n{holds}\n@kept\ndef work():\n{within}work()\ny = torch.zeros(len(rows))\nz = torch.zeros(2)\n"
    assert wrong_claims(tmp_path / "program.py", program) == {}


LEFT_ALONE = {
    "a function that only reads the list": "rows = [1, 2]\n@kept\ndef work():\n    print(rows[0], len(rows))\nwork()\ny = torch.zeros(len(rows))\n",
    "a list that nothing has to do with what is changed": "rows, others = [1, 2], [3]\n@kept\ndef work():\n    q = others\n    q.append(1)\nwork()\ny = torch.zeros(len(rows))\n",
    "a parameter that gets another shape": "def f(mask):\n    y = torch.zeros(2)\n    mask.unsqueeze_(0)\n    y = y * 1\n    return y\n",
    "what was made of a tensor that gets another shape": "x = torch.zeros(3)\ny = torch.zeros(2)\nx.unsqueeze_(0)\ny = y * 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_not_changed_stays_known(name: str) -> None:
    source = HEAD + LEFT_ALONE[name]
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["y"] == (2,)

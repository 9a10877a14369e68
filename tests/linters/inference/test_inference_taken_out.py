"""What an expression takes out of lists, dictionaries and objects is one of them: changing it changes what they hold.

Each expression is run for lists, objects, tensors and dictionaries, and what is taken out is changed on the spot, by a name,
in a function and in a loop. Nothing that is said of the rest afterwards may be wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

HEAD = """
import asyncio, collections, contextlib, copy, functools, heapq, itertools, operator, random, types
from dataclasses import dataclass, replace
import torch

class Holder:
    def __init__(self, rows): self.rows = rows

class Box:
    def __init__(self, w): self.w = w
    def __len__(self): return 1

@dataclass
class Record:
    rows: object

Pair = collections.namedtuple("Pair", "rows")

def given(r): return r

def all_of():
    yield from rows

def each_of():
    for r in rows: yield r

async def later(r): return r

rows = [{item}, {item}]
one = rows[0]
d = {{"k": one, "l": rows[1]}}
o = Holder(one)
x = torch.zeros(1)
"""

# By kind: an item, what shows that it has changed, and changes of it.
KINDS = {
    "list": ("[torch.zeros(2)]", "{}[-1] * 1", ("{}.append(x)", "{}[0] = torch.zeros(7, 7)")),
    "object": ("Box(torch.zeros(2))", "{}.w * 1", ("{}.w = torch.zeros(3, 3)",)),
    "tensor": ("torch.zeros(2)", "{} * 1", ("{}.unsqueeze_(0)", "{}.resize_(3, 3)")),
    "dictionary": (
        '{"a": torch.zeros(2)}',
        '{}["a"] * 1',
        ('{}["a"] = torch.zeros(3, 3)', "{}.update(a=torch.zeros(3, 3))"),
    ),
}
PLACES = ("one", "rows[0]", "rows[1]", 'd["k"]', "o.rows")

EXPRESSIONS = [
    "random.choice(rows)", "random.sample(rows, 2)[0]", "random.choices(rows)[0]", "heapq.nlargest(1, rows, key=len)[0]",
    "list(itertools.chain(rows))[0]", "list(itertools.chain.from_iterable([rows]))[0]", "list(itertools.islice(rows, 1))[0]",
    "list(itertools.product(rows))[0][0]", "next(itertools.accumulate(rows, lambda a, b: a))", "next(itertools.cycle(rows))",
    "next(filter(len, rows))", "next(r for r in rows)", "next(iter(rows))", "next(iter(rows), None)", "next(iter(d.values()))",
    "next(all_of())", "next(each_of())", "operator.itemgetter(0)(rows)", 'operator.attrgetter("rows")(o)', 'getattr(o, "rows")',
    "rows.__getitem__(0)", 'd.__getitem__("k")', "functools.reduce(lambda a, b: a, rows)", "(lambda r: r)(rows[0])", "given(one)",
    "copy.copy(o).rows", "replace(Record(one)).rows", "Record(one).rows", "Pair(one).rows", "Pair(one)._replace().rows",
    "types.SimpleNamespace(rows=rows[0]).rows", "(w := rows[0])", "[*rows][0]", '{**d}["k"]', '(d | {})["k"]', 'dict(d)["k"]',
    'dict(zip("ab", rows))["a"]', 'dict([("a", one)])["a"]', 'collections.OrderedDict(d)["k"]', 'collections.ChainMap(d)["k"]',
    'collections.defaultdict(list, d)["k"]', "collections.deque(rows)[0]", "collections.UserList(rows)[0]",
    'dict.fromkeys("ab", one)["a"]', "list(enumerate(rows))[0][1]", "tuple(rows)[0]", "list(map(lambda r: r, rows))[0]",
    "rows[slice(0, 1)][0]", 'd.get("k")', 'd.setdefault("k", [])', "list(d.values())[0]", "list(d.items())[0][1]",
    "[v for v in d.values()][0]", '{k: v for k, v in d.items()}["k"]', 'vars(o)["rows"]', 'o.__dict__["rows"]',
    "list(zip(rows))[0][0]", "list(zip(*[rows]))[0][0]", "(rows * 2)[0]", "sum([rows], [])[0]", "list(reversed(rows))[0]",
    "sorted(rows, key=len)[0]", "max(rows, key=len)", "min(rows, key=id)", "[r for r in rows if r is not None][0]",
    "(one if len(rows) > 5 else rows[1])", "(len(rows) and rows[0])", "(None or one)", '{"a": one}.popitem()[1]', '{"a": one}.pop("a")',
    "[one].pop()", "(one,)[0]", "((one,) + ())[0]", "((one,) * 2)[1]", "asyncio.run(later(one))",
    "contextlib.nullcontext(one).__enter__()", 'globals()["one"]', 'eval("one")',
]  # fmt: skip
BLOCKS = [
    "*_, r = rows\n<r>", "r, *_ = rows\n<r>", "for r in all_of():\n    <r>", "for r in itertools.cycle(rows):\n    <r>\n    break",
    "it = iter(rows)\nwhile True:\n    r = next(it, None)\n    if r is None: break\n    <r>",
    "match rows:\n    case [r, *_]:\n        <r>", "match o:\n    case Holder(rows=r):\n        <r>", 'match d:\n    case {"k": r}:\n        <r>',
    "with contextlib.nullcontext(one) as r:\n    <r>", "for _, group in itertools.groupby(rows, key=len):\n    for r in group:\n        <r>",
    "async def work(r):\n    again = await later(r)\n    <again>\nasyncio.run(work(one))",
]  # fmt: skip


def changing(source: str, change: str) -> str:
    """`source` with each `<what>` as a statement that changes it."""
    before, _, rest = source.partition("<")
    return (
        before if not _ else before + change.format(rest.partition(">")[0]) + changing(rest.partition(">")[2], change)
    )


def runs(program: str) -> bool:
    """Whether the program comes to its end: not every kind of thing can be taken out, and changed, in every way."""
    try:
        exec(compile(program, "program", "exec"), {"__name__": __name__})
    except (TypeError, AttributeError, RuntimeError, KeyError, SyntaxError, ValueError):
        return False
    return True


def ways(expression: str) -> list[str]:
    found = [f"<{expression}>", f"r = {expression}\n<r>", f"for _ in range(2):\n    q = {{seen}}\n    <{expression}>"]
    if not any(word in expression for word in ("globals", "eval")):
        found.append(f"def work(rows, one, d, o):\n    <{expression}>\n    y = {{seen}}\nwork(rows, one, d, o)")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", [*EXPRESSIONS, *BLOCKS])
def test_what_is_taken_out_and_changed(kind: str, source: str, tmp_path: Path) -> None:
    item, seen, changes = KINDS[kind]
    ran = 0
    every = [source] if source in BLOCKS else ways(source)
    for number, way in enumerate(every):
        if len(every) > 1 and (number + list(KINDS).index(kind)) % 2:
            continue  # of each expression, each way with half of the kinds
        body = changing(way.replace("{seen}", seen.format("one")), changes[number % len(changes)])
        tail = "\n".join(f"y{at} = {seen.format(place)}" for at, place in enumerate(PLACES))
        program = HEAD.format(item=item) + body + "\n" + tail + "\n"
        if runs(program):
            assert wrong_claims(tmp_path / f"program{number}.py", program) == {}, program
            ran += 1
    if not ran:
        pytest.skip(f"nothing of this kind is taken out by {source.splitlines()[0]}")


def before_the_change(expression: str, look: str, change: str) -> list[str]:
    """What is taken out, kept by a name or an object, and changed under the name that it has elsewhere."""
    found = [
        f"r = {expression}\na = {look.format('r')}\n{change}\nb = {look.format('r')}",
        f"class Keeps:\n    def __init__(self): self.r = {expression}\n    def see(self):\n        c = {look.format('self.r')}\n"
        f"        return c\nk = Keeps()\n{change}\nb = {look.format('k.r')}\nk.see()",
    ]
    if not any(word in expression for word in ("globals", "eval")):
        found.append(
            f"r = {expression}\ndef change(rows, one, d, o):\n    {change}\nchange(rows, one, d, o)\nb = {look.format('r')}"
        )
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", EXPRESSIONS)
def test_what_was_taken_out_before_it_is_changed(kind: str, source: str, tmp_path: Path) -> None:
    item, look, changes = KINDS[kind]
    ran = 0
    for number, place in enumerate(PLACES):
        change = changes[number % len(changes)].format(place)
        several = before_the_change(source, look, change)
        program = HEAD.format(item=item) + several[(number + len(source)) % len(several)] + "\n"
        if runs(program):
            assert wrong_claims(tmp_path / f"program{number}.py", program) == {}, program
            ran += 1
    if not ran:
        pytest.skip(f"nothing of this kind is taken out by {source}")

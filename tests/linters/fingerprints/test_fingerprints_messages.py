"""What the reader of a finding sees: the path, what else moves the hash, the remedy; and that the fix keeps the meaning."""

from __future__ import annotations

import ast

import libcst
import pytest
from fingerprint_programs import codes, hazards, programs

from tensorlint.inference.fingerprints import find_hazards
from tensorlint.rules.hash_seed_dependent_map import HashSeedDependentMap
from tensorlint.rules.rule import AnyRule
from tensorlint.rules.stale_map_function import StaleMapFunction
from tensorlint.rules.unseeded_map_parent import UnseededMapParent
from tensorlint.rules.unstable_map_closure import UnstableMapClosure

NODE = libcst.parse_expression("f")


def message(rule: AnyRule, title: str) -> str:
    (hazard,) = hazards(programs("moving")[title])
    said = rule.judge(hazard, NODE)
    assert said is not None
    return said


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        (
            "argparse namespace in a nested function [TSR401]",
            ["cut → args", "captures the settings args", "args.output_dir changes it too", '"max_len": args.max_len'],
        ),
        (
            "nested object that holds the run [TSR401]",
            ["lambda → self → run → id", "uuid.uuid4() is another in every run", "fn_kwargs"],
        ),
        (
            "database connection on self [TSR401]",
            ["db", "a database connection cannot be pickled", "random fingerprint"],
        ),
        ("unseeded random.Random [TSR401]", ["noisy → rng", "takes another seed in every run", "seed it"]),
        ("mutually recursive helpers [TSR401]", ["call each other", "recursion", "make them one function"]),
        (
            "global dict with an entry of the environment, read by get [TSR401]",
            ["cut → D", 'D["out"] changes it too', 'fn_kwargs={"n": D["n"]}'],
        ),
        (
            "class of settings with one of the environment, read by its name [TSR401]",
            ["CFG.out_dir changes it too", 'fn_kwargs={"max_len": CFG.max_len}'],
        ),
        ("warmed-up cache decided by a setting [TSR401]", ["length → cache", "changes cache by using it"]),
    ],
)
def test_closures(title: str, parts: list[str]) -> None:
    said = message(UnstableMapClosure(), title)
    assert [part for part in parts if part not in said] == [], said


def test_self_with_settings_that_the_method_does_not_read() -> None:
    code = """
from datasets import load_dataset

class Module:
    def __init__(self, width, out_dir, rate):
        self.width = width
        self.out_dir = out_dir
        self.rate = rate

    def cut(self, row):
        return {"t": row["text"][: self.width]}

    def setup(self):
        return load_dataset("x").map(self.cut)
"""
    (hazard,) = find_hazards(ast.parse(code), code)
    assert UnstableMapClosure().judge(hazard, NODE) == (  # type: ignore[arg-type]
        "self.cut → self: self.cut captures the whole of self, and map keeps its result under a hash of all of it: "
        "self.out_dir, self.rate change it too; read width = self.width before the function and use that, or pass it "
        "in fn_kwargs"
    )


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("membership in a set literal [TSR402]", ["lambda", "compiled to a frozenset", "PYTHONHASHSEED", "a tuple"]),
        ("captured frozenset [TSR402]", ["lambda → STOP", "frozenset of strings", "capture a set"]),
        ("list of a set of words [TSR402]", ["lambda → vocab", "sorted(...)"]),
    ],
)
def test_hash_seed(title: str, parts: list[str]) -> None:
    said = message(HashSeedDependentMap(), title)
    assert [part for part in parts if part not in said] == [], said


def test_parents() -> None:
    said = message(UnseededMapParent(), "split without a seed [TSR403]")
    assert "big.train_test_split" in said
    assert "the map after it never finds its cache; give train_test_split a seed" in said


def test_the_call_that_leaves_a_seed_at_none_is_evidence() -> None:
    code = programs("moving")["seed left at None two calls above [TSR403]"]
    (hazard,) = hazards(code)
    said = str(UnseededMapParent().judge(hazard, NODE))  # type: ignore[arg-type]
    assert "data.shuffle: outer(...) is called without a seed, and then it draws a new order in every run" in said
    assert "outer(big)" in code.splitlines()[hazard.evidence[1].line - 1]


def test_one_finding_for_a_function_that_is_mapped_twice_with_both_places() -> None:
    code = (
        "from datasets import load_dataset\n"
        'train, test = load_dataset("x", split=["train", "test"])\n'
        "def keep(row):\n"
        '    return row["t"] in {"a", "b", "c"}\n'
        "train.filter(keep)\n"
        "test.filter(keep)\n"
    )
    (hazard,) = find_hazards(ast.parse(code), code)
    assert hazard.node.lineno == 4  # type: ignore[attr-defined]
    assert [step.line for step in hazard.evidence] == [5, 6]


def test_the_fix_keeps_comments_and_lines() -> None:
    code = 'from datasets import load_dataset\nds = load_dataset("x")\nds.filter(lambda r: r["t"] in {  # kept\n "a", "b",\n})\n'
    (hazard,) = find_hazards(ast.parse(code), code)
    rule = HashSeedDependentMap()
    target = rule.fix_target(hazard)  # type: ignore[arg-type]
    text = ast.get_source_segment(code, target)
    assert text is not None
    fixed = rule.fix(hazard, libcst.parse_expression(text))  # type: ignore[arg-type]
    assert fixed is not None
    assert libcst.Module([]).code_for_node(fixed) == '(  # kept\n "a", "b",\n)'


def test_strict_findings_are_of_another_rule() -> None:
    code = 'import os\nfrom datasets import load_dataset\nds = load_dataset("x")\nds.map(lambda r: {"t": os.environ["A"]})\n'
    (hazard,) = find_hazards(ast.parse(code), code)
    assert UnstableMapClosure().judge(hazard, NODE) is None  # type: ignore[arg-type]
    assert "os.environ is read while mapping" in str(StaleMapFunction().judge(hazard, NODE))  # type: ignore[arg-type]


def test_an_annotation_may_be_any_text() -> None:
    for text in ("a\\0", "(", "x" * 9):
        code = f'from datasets import load_dataset\n\ndef f(ds: "{text}"):\n    return ds.map(lambda row: row)\n'
        assert find_hazards(ast.parse(code), code) == []


def test_what_is_called_is_not_said_to_be_read() -> None:
    code = 'import random\nfrom datasets import load_dataset\nds = load_dataset("x")\nds.map(lambda r: {"t": random.random()})\n'
    said = [str(StaleMapFunction().judge(hazard, NODE)) for hazard in find_hazards(ast.parse(code), code)]  # type: ignore[arg-type]
    assert any("random.random is called while mapping" in text for text in said)
    assert not any("random.random is read" in text for text in said)


@pytest.mark.parametrize("base", ["", "(Other)"])
def test_a_method_of_another_class_is_not_the_one_that_maps(base: str) -> None:
    """`self.process` is a method of this class or of those it derives from, not any method of that name."""
    code = f"""
from datasets import load_dataset

class Other:
    def process(self, ds):
        return ds.map(lambda row: {{"n": 1}})

class Own{base}:
    def process(self, ds):
        return ds.map(lambda row: {{"n": 2}})

    def run(self):
        return self.process(load_dataset("x", split="train").shuffle())
"""
    (hazard,) = find_hazards(ast.parse(code), code)
    lines = [step.line for step in hazard.evidence]
    assert lines == [10] if not base else lines[0] in (6, 10)


def test_a_file_without_datasets_costs_one_search_of_its_text() -> None:
    class Unread:
        """A tree that must not be looked at."""

        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"the tree was read: {name}")

    code = "x = [f(y) for y in z]\n"
    assert find_hazards(Unread(), code) == []  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="the tree was read"):
        find_hazards(Unread(), "import datasets\n" + code + "z.map(f)\n")  # type: ignore[arg-type]


def test_a_class_of_settings_read_by_its_name() -> None:
    code = """
from datasets import load_dataset

class CFG:
    width = 3
    rate = 1e-4

ds = load_dataset("x").map(lambda row: {"t": row["text"][: CFG.width]})
"""
    (hazard,) = find_hazards(ast.parse(code), code)
    said = str(UnstableMapClosure().judge(hazard, NODE))  # type: ignore[arg-type]
    assert "captures the settings CFG" in said
    assert "CFG.rate changes it too" in said
    assert 'fn_kwargs={"width": CFG.width}' in said
    assert find_hazards(ast.parse(code.replace("    rate = 1e-4\n", "")), code) == []


@pytest.mark.parametrize(
    "body",
    [
        "return dataset.map(KEEP).to_tf_dataset(columns='n').prefetch(1)",
        "dataset = dataset.map(KEEP)\n    dataset = dataset.to_tf_dataset(columns='n')\n    return dataset.prefetch(1)",
        "return dataset.map(KEEP).batch(3)",
        "return dataset.map(KEEP, num_proc=4)",
    ],
)
def test_a_parameter_is_a_dataset_of_the_library_that_the_file_imports(body: str) -> None:
    keep = 'lambda row: {"t": row["t"] in {"a", "b"}}'
    code = f"from datasets import load_dataset\n\ndef load(dataset):\n    {body.replace('KEEP', keep)}\n"
    assert codes(code) == ["TSR402"]


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ('class R:\n    root = os.environ["A"]\n    vocab = root + "/v"\n', "R.vocab"),
        ('root = os.environ["A"]\nD = {"root": root, "vocab": root + "/v"}\n', 'D["vocab"]'),
        ('D = {"root": os.environ["A"]}\n', 'D["root"]'),
        ('D = {"root": os.environ["A"], "n": 3}\n', "list(D.items())"),
    ],
)
def test_what_is_read_moves_with_the_same_setting(settings: str, read: str) -> None:
    code = f"import os\nfrom datasets import load_dataset\n{settings}"
    code += f'ds = load_dataset("x").map(lambda row: {{"t": {read}}})\n'
    assert codes(code) == []


@pytest.mark.parametrize(
    ("stamp", "period"),
    [
        ("datetime.date.today()", "every day"),
        ("datetime.date.today().isoformat()", "every day"),
        ("str(datetime.datetime.now().date())", "every day"),
        ('datetime.datetime.now().strftime("%Y-%m-%d")', "every day"),
        ('time.strftime("%Y%m%d")', "every day"),
        ('f"{datetime.datetime.now():%d.%m.%Y}"', "every day"),
        ("datetime.date.today().year", "every year"),
        ('datetime.datetime.now().strftime("%Y-%m")', "every month"),
        ("datetime.datetime.now()", ""),
        ('datetime.datetime.now().strftime("%Y-%m-%d %H:%M")', ""),
        ('time.strftime("%c")', ""),
        ("uuid.uuid4().hex", ""),
    ],
)
def test_a_date_moves_once_a_day(stamp: str, period: str) -> None:
    code = f"import datetime, time, uuid\nfrom datasets import load_dataset\nstamp = {stamp}\n"
    code += 'load_dataset("x").map(lambda row: {"t": stamp})\n'
    (hazard,) = hazards(code)
    said = str(UnstableMapClosure().judge(hazard, NODE))  # type: ignore[arg-type]
    if period:
        assert f"is another {period}: map takes a new fingerprint and keeps another copy {period};" in said
    else:
        assert "is another in every run: map takes a new fingerprint and never finds its cache" in said


def test_a_seed_that_is_the_date() -> None:
    code = "import datetime\nfrom datasets import load_dataset\n"
    code += 'ds = load_dataset("x").shuffle(seed=datetime.date.today().toordinal()).map(lambda row: {"t": 1})\n'
    (hazard,) = hazards(code)
    said = str(UnseededMapParent().judge(hazard, NODE))  # type: ignore[arg-type]
    assert "datetime.date.today() is another every day, so the map after it loses its cache every day;" in said


ENCODER = """
import torch
from datasets import load_dataset
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(128, 8)

    def forward(self, ids):
        return self.emb(ids)

{before}encoder = Encoder().eval()
{after}
def embed(row):
    return {{"e": encoder(torch.tensor([[ord(c) % 128 for c in row["text"]]]))[0].tolist()}}

ds = load_dataset("csv", data_files="x.csv").map(embed)
"""


def test_a_model_of_random_weights_is_to_be_seeded_or_loaded() -> None:
    """The function computes with the weights: handed over in fn_kwargs they would be as new in every process."""
    (hazard,) = find_hazards(ast.parse(code := ENCODER.format(before="", after="")), code)
    said = UnstableMapClosure().judge(hazard, NODE)  # type: ignore[arg-type]
    assert said is not None
    assert "embed → encoder → emb: the weights of torch.nn.EmbeddingBag are random and unseeded" in said
    advised = "call torch.manual_seed(0) before it is made, or load fixed weights into it with load_state_dict"
    assert said.endswith(f"; {advised}")


@pytest.mark.parametrize(
    "spelled",
    [
        {"before": "torch.manual_seed(0)\n", "after": ""},
        {"before": "", "after": "encoder.load_state_dict(torch.load('weights.pt'))\n"},
    ],
)
def test_which_is_all_that_it_takes(spelled: dict[str, str]) -> None:
    code = ENCODER.format(**spelled)
    assert find_hazards(ast.parse(code), code) == []


def test_numbers_drawn_into_a_field_are_to_be_seeded() -> None:
    code = """
import numpy as np
from datasets import load_dataset

class Noise:
    def __init__(self):
        self.rng = np.random.default_rng()

    def __call__(self, row):
        return {"t": self.rng.random()}

ds = load_dataset("x").map(Noise())
"""
    (hazard,) = find_hazards(ast.parse(code), code)
    said = UnstableMapClosure().judge(hazard, NODE)  # type: ignore[arg-type]
    assert said is not None
    assert said.endswith("; seed it, or make the generator inside the function from a seed in fn_kwargs")


@pytest.mark.parametrize(
    ("key", "named"),
    [("enc", "steps['enc']"), ("the encoder of the texts in the table", "steps[...]")],
)
def test_a_function_of_a_dictionary_is_named(key: str, named: str) -> None:
    code = f"""
import uuid
from datasets import load_dataset

class Enc:
    def __init__(self, n):
        self.n, self.run = n, uuid.uuid4().hex

    def __call__(self, row):
        return {{"t": row["text"][: self.n]}}

steps = {{"{key}": Enc(3)}}
ds = load_dataset("x").map(steps["{key}"])
"""
    (hazard,) = find_hazards(ast.parse(code), code)
    said = UnstableMapClosure().judge(hazard, NODE)  # type: ignore[arg-type]
    assert said is not None
    assert said.startswith(f"{named} → run: uuid.uuid4() is another in every run")

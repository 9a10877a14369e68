"""A function that takes arrays and tables asks which it has: what it does to a table is not reported of an array."""

from __future__ import annotations

import pytest
from rule_programs import codes, run

HEAD = """import inspect
import types
from typing import Any

import numpy as np

FRAMES = (types.SimpleNamespace,)
kind, count = "array", 1


def is_frame(value):
    return type(value).__name__ == "DataFrame"


class Checks:
    @staticmethod
    def is_table(value):
        return value.__class__ in FRAMES


"""
# Tests that are true of tables, and never of the array that the program has.
OF_TABLES = [
    'type(df).__name__ == "DataFrame"', 'type(df).__name__ in ("DataFrame", "Series")', 'df.__class__.__name__ == "DataFrame"',
    '"DataFrame" in str(type(df))', '"pandas" in type(df).__module__', 'type(df).__module__.startswith("pandas")',
    'type(df) == FRAMES[0]', "type(df) is FRAMES[0]", "type(df) in FRAMES", "df.__class__ in FRAMES", "isinstance(df, FRAMES)",
    "isinstance(df, types.SimpleNamespace)", "isinstance(df, (str, types.SimpleNamespace))", "issubclass(type(df), FRAMES)",
    'hasattr(df, "iloc")', 'hasattr(df, "to_arrow")', 'not hasattr(df, "dtype")', 'getattr(df, "columns", None) is not None',
    'getattr(df, "to_arrow", None) is not None', 'callable(getattr(df, "to_pandas", None))', '"columns" in dir(df)',
    "not isinstance(df, np.ndarray)", "not isinstance(df, (np.ndarray, list))", "type(df) != np.ndarray",
    "type(df) is not np.ndarray", "type(df) not in (np.ndarray,)", 'type(df).__name__ != "ndarray"', "is_frame(df)",
    "Checks.is_table(df)", "np.isscalar(df)", "callable(df)", 'getattr(df, "ndim", 1) == 2', "df is None", "isinstance(df, str)",
    'is_frame(df) or hasattr(df, "to_arrow")', "df is None or is_frame(df)", "is_frame(df) and count > 0",
]  # fmt: skip
# Tests that are true of the array, or of things that have nothing to do with what it is.
OF_ARRAYS = [
    "isinstance(df, np.ndarray)", "isinstance(df, (list, np.ndarray))", "type(df) is np.ndarray", 'type(df).__name__ == "ndarray"',
    "not is_frame(df)", "not isinstance(df, FRAMES)", 'not hasattr(df, "iloc")', 'hasattr(df, "reshape")', 'hasattr(df, "shape")',
    'getattr(df, "columns", None) is None', "not np.isscalar(df)", 'getattr(df, "ndim", 2) == 1', "type(df) not in FRAMES",
    'kind == "array"', "count > 0", "len(df) > 3", "df.any()", "np.isfinite(df).all()", "type(df) is type(df)",
    "is_frame(df) or count > 0", "isinstance(df, np.ndarray) or is_frame(df)",
]  # fmt: skip
FORMS = {
    "a branch": "    if {test}:\n        return df.transpose()\n    return df\n",
    "after a return": "    if not ({test}):\n        return df\n    return df.transpose()\n",
    "an else": "    if not ({test}):\n        df = df[:]\n    else:\n        df = df.transpose()\n    return df\n",
    "an expression": "    return df.transpose() if {test} else df\n",
    "the other side of one": "    return df if not ({test}) else df.transpose()\n",
    "and": "    return ({test}) and df.transpose()\n",
    "or": "    return not ({test}) or df.transpose()\n",
    "a comprehension": "    return [df.transpose() for df in [df] if {test}]\n",
}
CALL = "\n\nturned = turn(np.random.rand(10))\n"


def program(test: str, form: str) -> str:
    return f"{HEAD}def turn(df):\n{FORMS[form].format(test=test)}{CALL}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("test", OF_TABLES)
def test_what_is_done_to_tables_is_left_alone(test: str, form: str) -> None:
    code = program(test, form)
    assert codes(code) == []
    reached = code.replace("df.transpose()", "reached.append(1)").replace("def turn", "reached = []\n\n\ndef turn")
    assert run(reached, "numpy")["reached"] == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("test", OF_ARRAYS)
def test_what_is_done_to_arrays_is_reported(test: str, form: str) -> None:
    code = program(test, form)
    assert codes(code) == ["TSR101"]
    reached = code.replace("df.transpose()", "reached.append(1)").replace("def turn", "reached = []\n\n\ndef turn")
    assert run(reached, "numpy")["reached"] == [1]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("types.SimpleNamespace()", []),
        ("str() | types.SimpleNamespace(columns=_)", []),
        ("types.SimpleNamespace() as table", []),
        ("[first, *_]", []),
        ("None", []),
        ("np.ndarray()", ["TSR101"]),
        ("np.ndarray() | types.SimpleNamespace()", ["TSR101"]),
        ("_", ["TSR101"]),
        ("other", ["TSR101"]),
    ],
)
def test_a_pattern_asks_too(pattern: str, found: list[str]) -> None:
    body = f"    match df:\n        case {pattern}:\n            reached.append(df.T)\n    return df\n"
    code = f"{HEAD}reached = []\n\n\ndef turn(df):\n{body}{CALL}"
    assert codes(code) == found
    assert len(run(code, "numpy")["reached"]) == len(found)


AFTERWARDS = {
    "both branches go on": "    if is_frame(df):\n        name = df.name\n    else:\n        name = None\n    return df.T, name\n",
    "who is no array is refused": "    if not np.ndim(df):\n        raise TypeError(df)\n    return df.T\n",
    "who is no array of ours is refused": "    if not hasattr(df, 'of_ours') and count > 5:\n        raise TypeError(df)\n"
    "    return df.T\n",
    "a table returns": "    if is_frame(df):\n        return df.values\n    return df.T\n",
    "another name is asked": "    other = {}\n    if is_frame(other):\n        return df\n    return df.T\n",
    "an expression is over": "    first = df.T if is_frame(df) else df\n    return first, df.T\n",
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_comes_after_the_question_is_reported(name: str) -> None:
    code = f"{HEAD}def turn(df):\n{AFTERWARDS[name]}{CALL}"
    assert codes(code)[-1:] == ["TSR101"]
    run(code, "numpy")


@pytest.mark.parametrize(
    "kinds", ["(int, float)", "complex", "torch.Tensor", "pd.DataFrame", "(pd.DataFrame, pd.Series)"]
)
def test_what_no_array_can_be_is_decided(kinds: str) -> None:
    code = (
        "import numpy as np\nimport pandas as pd\nimport torch\n\n\ndef turn(x):\n"
        f"    if isinstance(x, {kinds}):\n        x = convert(x)\n    return x.T\n\n\nturned = turn(np.random.rand(8))\n"
    )
    assert codes(code) == ["TSR101"]
    assert run(code, "torch", "pandas")["turned"].shape == (8,)  # `convert` is not there: it was not called


def test_what_a_branch_does_in_place_is_known_afterwards() -> None:
    code = (
        "import torch\n\n\ndef grow(x):\n    if type(x).__name__ == 'Tensor' or is_table(x):\n        x.unsqueeze_(1)\n"
        "    return x - torch.rand(8)\n\n\ndef is_table(x):\n    return False\n\n\nloss = (grow(torch.rand(8)) ** 2).mean()\n"
        "y = torch.rand(8).T\n"
    )
    assert codes(code) == ["TSR101"]
    assert run(code)["loss"].shape == ()
    other = code.replace("x.unsqueeze_(1)", "x.zero_()").replace("x - torch.rand(8)", "x - torch.rand(8, 1)")
    assert "TSR112" in codes(other)


def test_what_code_that_is_not_followed_does_in_place_is_not_overlooked() -> None:
    code = (
        "import functools\n\nimport torch\n\n\n@functools.lru_cache(None)\ndef grow(x):\n    x.unsqueeze_(1)\n\n\ndef is_matrix(x):\n"
        "    return hasattr(x, 'shape')\n\n\ndef turn(x):\n    if is_matrix(x):\n        grow(x)\n    return x.T\n\n\n"
        "turned = turn(torch.rand(8))\n"
    )
    assert codes(code) == []
    assert run(code)["turned"].shape == (1, 8)
    assert codes(code.replace("        grow(x)", "        len(x)")) == ["TSR101"]


TORCH = "import torch\n\n\ndef is_distributed_tensor(x):\n    return False\n\n\ndef turn(x):\n    {}\n\n\nturn(torch.rand(10))\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return x.T if torch.is_tensor(x) else x", ["TSR101"]),
        ("return x if torch.is_tensor(x) else x.T", []),
        ("return x.T if isinstance(x, torch.Tensor) else x", ["TSR101"]),
        ("return x.T if type(x) is torch.Tensor else x", ["TSR101"]),
        ("return x.T if torch.is_floating_point(x) else x", ["TSR101"]),
        ("return x if torch.is_floating_point(x) else x.T", ["TSR101"]),
        ("return x.T if 'SparseTensor' in str(type(x)) else x", []),
        ("return x.T if hasattr(x, 'full_tensor') else x", []),
        ("return x.T if hasattr(x, 'unsqueeze') else x", ["TSR101"]),
    ],
)
def test_tensors_are_asked_too(body: str, found: list[str]) -> None:
    code = TORCH.format(body)
    assert codes(code) == found
    run(code)

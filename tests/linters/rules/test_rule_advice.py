"""What a message tells its reader to write: the advised code is run, and does what the message says of it."""

from __future__ import annotations

import re

import pytest
from rule_programs import findings, run

from tensorlint.checking import Selection, findings_of
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource

# What torch says of the programs, which are wrong on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Using a target size", "ignore:The use of `x.T`")


def message(code: str) -> str:
    (found,) = findings(code)
    return found.message


def advised(said: str) -> str:
    found = re.search(r"— (.*) gives both one shape", said)
    assert found, said
    return found[1]


def brings_together(code: str, left: str, right: str) -> str:
    """The advice of the program's only finding, after it was seen to give one operand the shape of the other."""
    advice = advised(message(code))
    scope = run(code)
    sides = [side for side in (left, right) if advice.startswith((side, f"({side})"))]
    assert len(sides) == 1, advice
    other = eval(right if sides == [left] else left, scope)
    shape = getattr(other, "batch_shape", None) or other.shape
    assert eval(advice, scope).shape == shape, advice
    return advice


PAIRS = [
    ((8, 1), (8,)),
    ((8, 8, 1), (8, 8)),
    ((4, 3, 1, 1), (4, 3)),
    ((4, 1, 4, 1), (4, 4)),
    ((6, 1, 16, 16), (6, 16, 16)),
    ((5, 1, 1), (5,)),
    ((5, 1, 1), (5, 1)),
    ((3, 3, 1, 1, 1), (3, 3)),
]


@pytest.mark.parametrize("pair", [*PAIRS, *(pair[::-1] for pair in PAIRS)], ids=str)
class TestBothGetOneShape:
    def test_in_a_loss(self, pair):
        code = f"import torch\n\na, b = torch.rand{pair[0]}, torch.rand{pair[1]}\nloss = torch.nn.MSELoss()(a, b)\n"
        brings_together(code, "a", "b")

    def test_of_arrays(self, pair):
        a, b = (f"np.random.rand{shape}" for shape in pair)
        code = f"import numpy as np\n\na, b = {a}, {b}\nloss = np.mean((a - b) ** 2)\n"
        if 1 in pair[0] and 1 in pair[1]:
            assert not findings(code)  # as likely meant
        else:
            brings_together(code, "a", "b")

    def test_where_only_the_other_side_can_be_shown(self, pair):
        # The longer side is too long to be pasted, whichever it is.
        long = "(torch.relu(torch.abs(torch.neg({}))) + 0.25)"
        names = ["a", "b"]
        at = int(len(pair[1]) > len(pair[0]))
        names[at] = long.format(names[at])
        code = (
            f"import torch\nimport torch.nn.functional as F\n\na, b = torch.rand{pair[0]}, torch.rand{pair[1]}\n"
            f"loss = F.l1_loss({names[0]}, {names[1]})\n"
        )
        advice = brings_together(code, *names)
        assert "…" not in advice
        assert ".unsqueeze(" in advice


def test_where_neither_side_can_be_shown_words_remain() -> None:
    a = "torch.relu(torch.abs(torch.neg(torch.rand(8, 1))))"
    b = "torch.relu(torch.abs(torch.neg(torch.rand(8)))) + 1"
    said = message(f"import torch\nimport torch.nn.functional as F\n\nloss = F.l1_loss({a}, {b})\n")
    assert said.endswith("— .squeeze(-1) behind the first operand gives both one shape")


def test_a_comment_within_an_operand_is_not_pasted() -> None:
    code = (
        "import torch\n\na, b = torch.rand(8, 1), torch.rand(8)\n"
        "loss = ((a  # the model's\n         * 2) - b).abs().mean()\n"
    )
    assert advised(message(code)) == "b.unsqueeze(-1)"


@pytest.mark.parametrize(("a", "b"), [("(32, 1)", "(32, 32)"), ("(32, 1, 3)", "(32, 1, 1)"), ("(32, 10, 1)", "(32,)")])
def test_what_no_axis_too_many_explains_gets_no_squeeze(a: str, b: str) -> None:
    code = f"import torch\nimport torch.nn.functional as F\n\na, b = torch.rand({a}), torch.rand({b})\nloss = F.mse_loss(a, b)\n"
    said = message(code)
    assert said.endswith("— give both one shape"), said
    assert "squeeze" not in said


def test_a_row_and_a_column() -> None:
    code = "import torch\nimport torch.nn.functional as F\n\na, b = torch.rand(8, 1), torch.rand(1, 8)\nloss = F.l1_loss(a, b)\n"
    assert brings_together(code, "a", "b") == "a.reshape(b.shape)"


def test_arguments_given_by_name_in_another_order() -> None:
    code = (
        "import torch\nimport torch.nn.functional as F\n\na, b = torch.rand(8, 1), torch.rand(8)\n"
        "loss = F.l1_loss(target=b, input=a)\n"
    )
    assert brings_together(code, "a", "b") == "a.squeeze(-1)"
    assert "a (8, 1) and b (8,)" in message(code)


NORMAL = """\
import torch
from torch.distributions import Normal

mean, y = torch.rand(8, 1), torch.rand(8)
dist = Normal(mean, torch.ones(8, 1))
loss = -dist.log_prob(y).mean()
"""


def test_a_distribution_has_no_squeeze() -> None:
    assert brings_together(NORMAL, "dist", "y") == "y.unsqueeze(-1)"
    (found,) = findings(NORMAL)
    assert "dist was made (8, 1) by Normal(mean, torch.ones(8, 1))" in [each.message for each in found.evidence]


@pytest.mark.parametrize("made", ["Normal(mean, torch.ones(8, 1))", "self.dist"])
def test_however_it_is_reached(made: str) -> None:
    code = NORMAL.replace("dist = Normal", "class Net:\n    pass\n\n\nself = Net()\nself.dist = Normal").replace(
        "-dist.", f"-{made}."
    )
    assert advised(message(code)) == "y.unsqueeze(-1)"


@pytest.mark.parametrize("values", ["[1.0, 2.0, 3.0]", "weights"])
def test_a_list_has_none_either(values: str) -> None:
    code = f"import numpy as np\n\nweights = [1.0, 2.0, 3.0]\nx = np.random.rand(3, 1)\ntotal = np.sum(x * {values})\n"
    assert advised(message(code)) == "x.squeeze(-1)"
    swapped = code.replace("np.random.rand(3, 1)", "np.random.rand(3)").replace(
        "[1.0, 2.0, 3.0]", "[[1.0], [2.0], [3.0]]"
    )
    assert advised(message(swapped)) == "x[:, None]"
    assert run(swapped)["x"][:, None].shape == (3, 1)


TARGET = """\
import torch
import torch.nn.functional as F

q, reward, later = torch.rand(16, 1), torch.rand(16), torch.rand(16, 1)
target = reward + 0.9 * later
loss = F.mse_loss(q, target)
"""


class TestALossOfWhatIsAMatrixAlready:
    def test_is_reported_where_the_matrix_is_made(self):
        (found,) = findings(TARGET)
        assert (found.code, found.span.line) == ("TSR112", 5)
        assert "became (16, 16) in addition, and a loss compares all of it" in found.message
        assert "line 6: compared with q (16, 1) here: F.mse_loss(q, target)" in [
            f"line {each.line}: {each.message}" for each in found.evidence
        ]
        # The loss compares it with a column.
        assert brings_together(TARGET, "reward", "0.9 * later") == "reward.unsqueeze(-1)"

    def test_once_for_every_loss(self):
        (found,) = findings(TARGET + "other = F.l1_loss(target - 1, 2 * q)\n")
        assert [each.line for each in found.evidence if "compared" in each.message] == [6, 7]

    def test_also_on_its_own_line(self):
        code = TARGET.replace("F.mse_loss(q, target)", "F.mse_loss(q, reward + later)").replace("0.9 * later", "0")
        assert [found.span.column for found in findings(code)] == [code.splitlines()[5].index("reward") + 1]

    def test_whichever_of_the_two_rules_is_asked(self):
        (found,) = findings_of(PythonSource("case.py", TARGET), load(), Selection(frozenset({"TSR112"})), None)[0]
        assert found.span.line == 5

    def test_but_not_where_the_matrix_is_meant(self):
        code = TARGET.replace("0.9 * later", "later[:, 0][:, None]")
        (found,) = findings(code)
        assert found.span.line == 6
        assert found.message.endswith("broadcasts to (16, 16) — reward.unsqueeze(-1) in line 5 gives both one shape")
        assert "target was made (16, 16) by" in found.evidence[1].message
        assert not findings(code.replace("reward + ", "reward.unsqueeze(-1) + "))

    def test_nor_where_it_is_no_matrix_any_more(self):
        code = TARGET.replace("loss = F.mse_loss(q, target)", "loss = F.mse_loss(q, target.sum(1))")
        assert [found.span.line for found in findings(code)] == [5, 6]


TORCH = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
# Program, what is advised, and what the mended program shows.
AMONG_COLUMNS = {
    "a gradient of columns": (
        "import numpy as np\n\nX, y = np.random.rand(30, 3), np.random.rand(30)\ntheta = np.zeros((3, 1))\n"
        "grad = X.T @ (X @ theta - y) / len(y)\n",
        "y[:, None]",
        "grad.shape == theta.shape",
    ),
    "a gradient through np.dot": (
        "import numpy as np\n\nX, y = np.random.rand(30, 3), np.random.rand(30)\nW = np.zeros((3, 1))\n"
        "out = 1 / (1 + np.exp(-(np.dot(X, W) + 1)))\nd = out - y\ngrad = np.dot(X.T, d)\n",
        "y[:, None]",
        "grad.shape == W.shape",
    ),
    "a column that is noised for a layer of one input": (
        TORCH + "x0, a = torch.rand(8, 1), torch.rand(8)\nxt = a * x0\nout = nn.Linear(1, 4)(xt[:, :1])\n",
        "a.unsqueeze(-1)",
        "xt.shape == (8, 1)",
    ),
    "an ensemble's mean and variance": (
        TORCH
        + "mean, var, y = torch.rand(8, 1), torch.rand(8, 1), torch.rand(8)\nnll = ((y - mean) ** 2 / var).mean()\n",
        "y.unsqueeze(-1)",
        "nll.shape == () and torch.isclose(nll, ((y[:, None] - mean) ** 2 / var).mean())",
    ),
    "a target of another network's column": (
        TORCH
        + "q, later, go = torch.rand(8, 1), torch.rand(8, 1), torch.rand(8)\nloss = F.mse_loss(q, 1 + go * later)\n",
        "go.unsqueeze(-1)",
        "(1 + go.unsqueeze(-1) * later).shape == q.shape",
    ),
    "a value less a log-probability": (
        TORCH + "q, done, logp = torch.rand(8, 1), torch.rand(8, 1), torch.rand(8)\nbackup = done * (q - logp)\n",
        "logp.unsqueeze(-1)",
        "backup.shape == (8, 1)",
    ),
}


@pytest.mark.parametrize("name", AMONG_COLUMNS)
def test_among_columns_the_row_becomes_one(name: str) -> None:
    code, step, shows = AMONG_COLUMNS[name]
    (found,) = findings(code)
    assert advised(found.message) == step
    lines = code.splitlines()
    line, row = found.span.line - 1, re.split(r"[.\[]", step)[0]
    lines[line] = re.sub(rf"\b{row}\b", step, lines[line], count=1)
    mended = "\n".join(lines) + "\n"
    assert findings(mended) == []
    assert eval(shows, run(mended))


def test_a_column_among_vectors_loses_its_axis() -> None:
    """The weights are a vector, so the gradient is to be one: the labels are what is odd."""
    code = (
        "import numpy as np\n\nX, y = np.random.rand(30, 3), np.random.rand(30, 1)\nw = np.zeros(3)\n"
        "grad = X.T @ (X @ w - y) / len(y)\n"
    )
    assert brings_together(code, "X @ w", "y") == "y.squeeze(-1)"


def test_a_matrix_that_no_broadcast_made_is_reported_at_the_loss() -> None:
    code = TARGET.replace("reward + 0.9 * later", "torch.rand(16, 16)")
    (found,) = findings(code)
    assert (found.span.line, found.code) == (6, "TSR112")
    assert found.message.endswith("broadcasts to (16, 16) — give both one shape")


class TestAReductionOverTheOtherAxis:
    """The mended program centres or scales each row by its own number."""

    def said(self, reduction: str, used: str = "d", before: str = "") -> str:
        code = f"import numpy as np\n\nA = np.random.rand(4, 4)\n{before}{reduction}\nB = A / {used}\n"
        (found,) = findings(code)
        assert "a square hides it — use " in found.message
        advice = found.message.partition("— use ")[2]
        place = re.fullmatch(r"keepdims=True in (.*\))(?:, line (\d+))?", advice)
        if place is None:
            mended = code.replace(f"A / {used}", f"A / {advice}")
        else:
            lines = code.splitlines()
            line = int(place[2] or found.span.line) - 1
            assert place[1] in lines[line]
            lines[line] = lines[line].replace(place[1], place[1][:-1] + ", keepdims=True)")
            mended = "\n".join(lines)
        scope = run(mended)
        assert scope["d"].shape == ((4, 1) if place is not None and place[2] else (4,))
        assert (scope["B"] == scope["A"] / scope["A"].sum(1)[:, None]).all()
        return advice

    def test_in_a_name(self):
        assert self.said("d = A.sum(axis=1)") == "keepdims=True in A.sum(axis=1), line 4"

    def test_computed_with_since(self):
        assert self.said("d = np.abs(A.sum(axis=1))") == "keepdims=True in A.sum(axis=1), line 4"

    def test_on_the_line(self):
        assert self.said("d = A.sum(axis=1)", "A.sum(axis=1)") == "keepdims=True in A.sum(axis=1)"
        assert self.said("d = A.sum(axis=1)", "np.abs(np.sum(A, axis=1))") == "keepdims=True in np.sum(A, axis=1)"

    def test_in_a_function_of_the_file(self):
        before = "\n\ndef total(a):\n    return a.sum(axis=1)\n\n\n"
        assert self.said("d = total(A)", before=before) == "keepdims=True in a.sum(axis=1), line 7"

    def test_under_another_name_the_axis_is_given_back(self):
        before = "from numpy import sum as total\n\n"
        assert self.said("d = total(A, axis=1)", before=before) == "d[:, None]"
        assert self.said("d = total(A, axis=1)", "total(A, axis=1)", before=before) == "total(A, axis=1)[:, None]"

    def test_a_long_call_is_named_by_its_function(self):
        name = "adjacency_with_the_loops_of_every_node_to_itself"
        code = f"import numpy as np\n\n{name} = np.random.rand(4, 4)\nd = np.sum({name}, axis=1)\nB = {name} / d\n"
        assert message(code).endswith("— use keepdims=True in np.sum(…), line 4")


JOINS = {
    "np.hstack((X, vec))": ("vec[:, None] for a column, or np.column_stack", (4, 5)),
    "np.append(X, vec, axis=1)": ("vec[:, None] for a column, or np.column_stack", (4, 5)),
    "np.concatenate([vec, X], axis=-1)": ("vec[:, None] for a column, or np.column_stack", (4, 5)),
    "np.concatenate([X, vec])": ("vec[None, :] for a row, or np.vstack", (5, 4)),
    "np.append(X, vec, axis=0)": ("vec[None, :] for a row, or np.vstack", (5, 4)),
    "np.hstack((X, [1, 2, 3, 4]))": ("np.array([1, 2, 3, 4])[:, None] for a column, or np.column_stack", (4, 5)),
    "torch.cat((vec, X), dim=-1)": ("vec[:, None] for a column", (4, 5)),
    "torch.cat((vec, X), dim=0)": ("vec[None, :] for a row", (5, 4)),
    "torch.cat((X, vec))": ("vec[None, :] for a row", (5, 4)),
}


@pytest.mark.parametrize("join", JOINS)
def test_a_vector_joined_with_a_matrix(join: str) -> None:
    advice, shape = JOINS[join]
    make = "torch" if "torch" in join else "np.random"
    code = f"import numpy as np\nimport torch\n\nX, vec = {make}.rand(4, 4), {make}.rand(4)\ny = {join}\n"
    said = message(code)
    assert said.endswith(f"— {advice}")
    step = advice.partition(" for a ")[0]
    old = step.removesuffix("[:, None]").removesuffix("[None, :]")
    old = old.removeprefix("np.array(").removesuffix(")")
    assert run(code.replace(join, join.replace(old, step)))["y"].shape == shape
    with pytest.raises(Exception, match="dimensions"):
        run(code)


def test_a_vector_of_a_list_that_is_joined_is_called_one() -> None:
    code = "import numpy as np\n\nX, v = np.ones((4, 4)), np.ones(4)\nrows = [X, v]\ny = np.concatenate(rows)\n"
    assert "np.concatenate cannot join a rank-1 vector as a row; the vector has shape (4,) — " in message(code)


ESTIMATED = """\
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

X, y = np.random.rand(9, 3), np.random.rand(9)
df = pd.DataFrame({"area": y, "price": y})
model = LinearRegression().fit(X, y)
single = LinearRegression().fit(X[:, :1], y)
"""
FEATURES = {
    "single.fit(y, y)": "y.reshape(-1, 1) for one feature",
    "single.predict(y)": "y.reshape(-1, 1) for one feature",
    "model.predict(X[0])": "X[0].reshape(1, -1) for one sample",
    'single.fit(df["area"], y)': 'df[["area"]] for one feature',
    "single.fit(df.area, y)": "df.area.to_frame() for one feature",
    'StandardScaler().fit_transform(df["area"])': 'df[["area"]] for one feature',
}


@pytest.mark.parametrize("call", FEATURES)
def test_features_are_a_matrix(call: str) -> None:
    for library in ("sklearn", "pandas"):
        pytest.importorskip(library, reason="the advice is about it")
    code, advice = f"{ESTIMATED}z = {call}\n", FEATURES[call]
    assert message(code).endswith(f"— {advice}")
    step = advice.partition(" for one ")[0]
    (old,) = (each for each in ('df["area"]', "df.area", "X[0]", "y") if f"({each}" in call)
    run(code.replace(call, call.replace(old, step, 1)))
    with pytest.raises(ValueError, match="2"):
        run(code)


def test_of_an_estimator_fitted_elsewhere_both_are_said() -> None:
    code = (
        "import numpy as np\nfrom sklearn.linear_model import LinearRegression\n\nmodel = LinearRegression()\n"
        "z = model.predict(np.ones(3))\n"
    )
    assert message(code).endswith("np.ones(3).reshape(-1, 1) for one feature, np.ones(3).reshape(1, -1) for one sample")


class TestATransposeOfAVector:
    @pytest.mark.parametrize(
        ("transposed", "column"),
        [
            ("x.T", "x[:, None]"),
            ("np.transpose(x)", "x[:, None]"),
            ("net.h.transpose()", "net.h[:, None]"),
            ("rows[0].T", "rows[0][:, None]"),
            ("(x - 1).T", "(x - 1)[:, None]"),
        ],
    )
    def test_the_users_own_expression_becomes_a_column(self, transposed, column):
        code = (
            "import numpy as np\n\n\nclass Net:\n    pass\n\n\nnet = Net()\nx = net.h = np.random.rand(4)\n"
            f"rows = np.random.rand(3, 4)\ny = {transposed}\n"
        )
        assert message(code).endswith(f"does nothing — write {column} for a column, or leave the transpose out")
        assert eval(column, run(code)).shape == (4, 1)

    @pytest.mark.parametrize(
        ("library", "made"),
        [
            ("np", "np.array([1.0, 0.0])"),
            ("np", "np.asarray([1, 2, 3], dtype=float)"),
            ("torch", "torch.tensor([1.0, 2])"),
        ],
    )
    def test_a_literal_becomes_a_row_where_it_is_made(self, library, made):
        code = f"import numpy as np\nimport torch\n\nH = {made}\nP = {library}.{{}}(len(H))\nK = P @ H.T\n"
        code = code.format("eye")
        found = re.search(r"— write (.*) in line (\d+), a row whose transpose is a column, or leave", message(code))
        assert found
        assert found[2] == "4"
        mended = code.replace(made, found[1]).replace("len(H)", "H.shape[1]")
        assert run(mended)["K"].shape == (run(code)["K"].shape[0], 1)
        assert not findings(mended)

    def test_of_a_list(self):
        code = "import numpy as np\n\ny = np.transpose([1, 2, 3])\n"
        assert message(code).endswith("— write np.array([1, 2, 3])[:, None] for a column, or leave the transpose out")

    def test_a_literal_of_the_line_itself(self):
        code = "import numpy as np\n\nx = np.array([1.0, 2.0]).T\n"
        assert "— write np.array([[1.0, 2.0]]), a row whose transpose is a column, or" in message(code)

    def test_a_field_of_an_object_too(self):
        code = (
            "import numpy as np\n\n\nclass Filter:\n    def __init__(self):\n        self.H = np.array([1.0, 0.0])\n"
            "        self.P = np.eye(2)\n\n    def gain(self):\n        return self.P @ self.H.T / 2.0\n\n\n"
            "K = Filter().gain()\n"
        )
        assert "write np.array([[1.0, 0.0]]) in line 6, a row" in message(code)
        assert run(code.replace("[1.0, 0.0]", "[[1.0, 0.0]]"))["K"].shape == (2, 1)

    def test_a_long_one_is_not_repeated(self):
        code = "import numpy as np\n\ny = (np.linspace(0.0, 1.0, 12) + np.linspace(0.0, 2.0, 12)).T\n"
        assert message(code).endswith("— write [:, None] behind it for a column, or leave the transpose out")

    @pytest.mark.parametrize("library", ["np", "torch"])
    @pytest.mark.parametrize(
        ("product", "left", "right"),
        [
            ("a.T @ b", "a", "b"),
            ("a @ b.T", "a", "b"),
            ("X.matmul(a, rows[0].T)", "a", "rows[0]"),
            ("X.matmul(X.matmul(rows, a), (b - 1).T)", "X.matmul(rows, a)", "b - 1"),
        ],
    )
    def test_in_a_product_of_two_vectors(self, library, product, left, right):
        make = "np.random.rand" if library == "np" else "torch.rand"
        product, left, right = (each.replace("X.", f"{library}.") for each in (product, left, right))
        code = f"import numpy as np\nimport torch\n\na, b = {make}(4), {make}(4)\nrows = {make}(4, 4)\ny = {product}\n"
        said = message(code)
        assert "of a rank-1 array does nothing, and " in said
        assert f"{product} is a single number — write " in said
        # Of columns the first is transposed for a number, and then that comes first.
        both = ["(.*) for the number", "(.*) for the matrix"][:: 1 if product.startswith("a.T") else -1]
        advice = re.fullmatch(", ".join(both), said.partition("— write ")[2]).groups()
        number, matrix = advice[:: 1 if product.startswith("a.T") else -1]
        assert matrix == f"{library}.outer({left}, {right})"
        scope = run(code)
        assert eval(matrix, scope).shape == (4, 4)
        assert eval(number, scope) == scope["y"]
        assert scope["y"].shape == ()

    def test_in_an_elementwise_product(self):
        code = "import numpy as np\n\na, b = np.random.rand(4), np.random.rand(4)\ny = a * b.T\n"
        said = message(code)
        assert said.endswith(
            "and a * b.T is (4,) again — write np.outer(a, b) for the matrix, a * b for the elementwise product"
        )
        scope = run(code)
        assert scope["y"].shape == (4,)
        assert (eval("a * b", scope) == scope["y"]).all()

    def test_of_two_lengths_it_raises(self):
        code = "import numpy as np\n\na, b = np.random.rand(4), np.random.rand(3)\ny = np.dot(a.T, b)\n"
        assert message(code).endswith(
            "and np.dot(a.T, b) raises, as the lengths differ — write np.outer(a, b) for the matrix"
        )
        with pytest.raises(ValueError, match="not aligned"):
            run(code)

    @pytest.mark.parametrize("library", ["np", "torch"])
    @pytest.mark.parametrize(
        "product",
        [
            "a.T @ B",
            "B.T @ a.T",
            "(a - 1).T @ B",
            "X.matmul(a.T, B)",
            "X.matmul(B.T, (a * 2).T)",
            "X.linalg.solve(X.eye(4), a.T)",
            "B.T.matmul(a.T)",
            "np.dot(a.T, B)",
            "B.T.dot(a.T)",
        ],
    )
    def test_beside_a_matrix_what_gives_the_same_comes_first(self, library, product):
        if library == "torch" and "dot" in product:
            product = product.replace("np.dot(a.T, B)", "a.t() @ B").replace("B.T.dot(a.T)", "B.t() @ a.t()")
        if library == "np":
            product = product.replace("B.T.matmul(a.T)", "B.T @ np.transpose(a)")
        make = "np.random.rand" if library == "np" else "torch.rand"
        product = product.replace("X.", f"{library}.")
        code = f"import numpy as np\nimport torch\n\na, B = {make}(4), {make}(4, 3)\ny = {product}\n"
        said = re.search(
            r"— write (.*), which gives the same (\(.*?\)), or (.*) for a (row|column) (\(.*\))$", message(code)
        )
        assert said, message(code)
        scope = run(code)
        same, grown = eval(said[1], scope), eval(said[3], scope)
        assert (same == scope["y"]).all()
        assert tuple(same.shape) == eval(said[2])
        assert tuple(grown.shape) == eval(said[5])
        assert tuple(grown.shape) == ((1, 3) if said[4] == "row" else (*same.shape, 1))

    def test_beside_a_matrix_of_another_length_it_may_be_a_column(self):
        code = "import numpy as np\n\na, B = np.random.rand(4), np.random.rand(1, 3)\ny = a.T @ B\n"
        assert message(code).endswith("does nothing — write a[:, None] for a column, or leave the transpose out")
        with pytest.raises(ValueError, match="mismatch"):
            run(code)
        assert run(code.replace("a.T", "a[:, None]"))["y"].shape == (4, 3)

    def test_beside_what_may_be_anything(self):
        code = "import numpy as np\n\n\ndef f(B):\n    a = np.ones(4)\n    return a.T @ B\n"
        assert message(code).endswith("does nothing — write a @ B, which gives the same")

    def test_where_a_matrix_vector_product_takes_no_column(self):
        code = "import torch\n\na, B = torch.rand(3), torch.rand(4, 3)\ny = torch.mv(B, a.T)\n"
        assert message(code).endswith("does nothing — write torch.mv(B, a), which gives the same")

    def test_beside_a_number(self):
        code = "import numpy as np\n\na, b = np.random.rand(4), np.random.rand(4)\ny = 0.5 * a.T @ b\n"
        assert message(code).endswith("does nothing — write 0.5 * a @ b, which gives the same number")
        scope = run(code)
        assert eval("0.5 * a @ b", scope) == scope["y"]

    def test_both_vectors_have_their_evidence(self):
        code = "import numpy as np\n\na = np.random.rand(4)\nb = np.random.rand(4)\ny = np.dot(a.T, b)\n"
        (found,) = findings(code)
        assert [each.line for each in found.evidence] == [3, 4]


@pytest.mark.parametrize(
    ("wrong", "column"),
    [
        ("np.hstack((X, y * 2))", "(y * 2)[:, None]"),
        ("np.hstack((X, net.y))", "net.y[:, None]"),
        ("np.linalg.inv(y + 1)", "(y + 1)[:, None]"),
    ],
)
def test_a_vector_among_matrices_becomes_a_column(wrong: str, column: str) -> None:
    code = (
        "import numpy as np\n\n\nclass Net:\n    pass\n\n\nnet, X = Net(), np.random.rand(4, 2)\n"
        f"y = net.y = np.random.rand(4)\nz = {wrong}\n"
    )
    assert f" — {column} for a column" in message(code)
    assert eval(column, run(code.rpartition("z = ")[0])).shape == (4, 1)


WRITTEN = [
    "x.view(-1)[0] = 1",
    "x.view(12)[3:] += 1",
    "x.view(-1).fill_(1)",
    "x.view(-1)[1:5].data.add_(1)",
    "for k in range(3):\n    x.view(6, 2)[k, 0] = k + 1",
    "flat = x.view(-1)\nflat[0] = 1",
    "flat = x.view(-1)\nflat += 1",
    "flat = x.view(-1)\nrow = flat[:3]\nrow.mul_(2).add_(1)",
    "torch.nn.init.ones_(x.view(12))",
    "torch.ones(12, out=x.view(12))",
    "def put(t):\n    t.view(-1)[2] = 1\n\n\nput(x)",
]
READ = [
    "y = x.view(-1)",
    "y = x.view(-1).add_(1)",
    "x = x.view(-1)\nx += 1\ny = x",
    "flat = x.view(-1)\nflat[0] = 1\ny = flat + 0",
    "def shifted(t):\n    t = t.view(-1)\n    t[0] = 1\n    return t\n\n\ny = shifted(x)",
    "y = torch.zeros(12)\ny[:] = x.view(-1)",
]


@pytest.mark.parametrize("body", WRITTEN)
def test_a_view_that_is_only_written_into_gets_no_copy(body: str) -> None:
    code = f"import torch\n\nx = torch.zeros(3, 4).t()\n{body}\n"
    (found,) = findings(code)
    assert found.fix is None
    assert re.search(
        r"— write into [xt] by its own axes: .reshape would make a copy, and what is written", found.message
    )
    lines = [f"line {each.line}: {each.message}" for each in found.evidence if each.message.startswith("written into")]
    assert lines == ([] if "flat" not in body else [f"line 5: written into here: {body.splitlines()[1]}"] if "row" not in body
                     else [f"line 6: written into here: {body.splitlines()[2]}"])  # fmt: skip
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        run(code)
    assert not run(code.replace(".view(", ".reshape("))["x"].any()  # nothing has come of it


@pytest.mark.parametrize("body", READ)
def test_one_that_is_read_does(body: str) -> None:
    code = f"import torch\n\nx = torch.ones(3, 4).t()\n{body}\n"
    (found,) = findings(code)
    assert found.fix is not None
    assert "— write .reshape, which copies" in found.message
    assert run(code.replace(".view(", ".reshape("))["y"].any()

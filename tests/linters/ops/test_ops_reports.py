"""What the tables tell the interpreter: hazards, marks and the trail of a layout."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tensorlint.inference import layout, ops
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import elementwise, indexing, modules
from tensorlint.inference.values import (
    FALSE,
    NONE,
    PLAIN,
    TRUE,
    Const,
    LibraryObject,
    Number,
    Opaque,
    Sequence,
    Slice,
    Tensor,
    Value,
)


class Listener:
    """Stands where the interpreter stands: it keeps what it is told."""

    not_only_arrays = False
    asks_arguments = False

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def report(self, call: ops.Call, kind: str, facts: dict[str, Any]) -> None:
        self.heard.append((kind, facts))

    def unify(self, a: S.Size, b: S.Size) -> None:
        """Two sizes that the program needs to be one."""

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.heard]

    def only(self, kind: str) -> dict[str, Any]:
        found = [facts for name, facts in self.heard if name == kind]
        assert len(found) == 1, self.heard
        return found[0]

    def members(self, value: LibraryObject) -> Sequence:
        return Sequence("list", [*value.positional])

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value], node: object) -> Value:
        return modules.call_module(ops.Call("member", interpreter=self), function, args, kwargs)  # type: ignore[arg-type]


def tensor(*shape: S.Size, framework: Any = "torch", dtype: str = "float32", marks: Any = ()) -> Tensor:
    return Tensor(framework, shape, layout.contiguous(shape), dtype, marks=frozenset(marks))


def method(listener: Listener, name: str, receiver: Tensor, *args: Value, **kwargs: Value) -> Any:
    entry = ops.method(receiver.framework or "torch", name)
    assert entry is not None
    return ops.apply(entry, ops.Call(name, interpreter=listener), [receiver, *args], kwargs)


def function(listener: Listener, path: str, *args: Value, **kwargs: Value) -> Any:
    entry = ops.function(path)
    assert entry is not None, path
    return ops.apply(entry, ops.Call(path, interpreter=listener), list(args), kwargs)


def operator(listener: Listener, sign: str, left: Value, right: Value) -> Any:
    return elementwise.binary(ops.Call(sign, interpreter=listener), sign, left, right)


N, M = S.symbol("N"), S.symbol("M")


class TestView:
    def test_a_view_over_swapped_axes_is_told(self) -> None:
        listener = Listener()
        turned = method(listener, "transpose", tensor(N, M, 8), Const(1), Const(2))
        method(listener, "view", turned, Number(N), Const(-1))
        facts = listener.only("view")
        assert facts["result"].broken == (1, 2)
        assert S.show_shape(facts["target"]) == "(N, 8*M)"

    @pytest.mark.parametrize("name", ["reshape", "flatten"])
    def test_reshape_is_not(self, name: str) -> None:
        listener = Listener()
        turned = method(listener, "t", tensor(3, 4))
        method(listener, name, turned, *([Const(-1)] if name == "reshape" else []))
        assert "view" not in listener.kinds()

    def test_a_view_that_may_be_legal_is_not(self) -> None:
        listener = Listener()
        unknown = Tensor("torch", (N, M), None, "float32")
        assert method(listener, "view", unknown, Const(-1)).strides is None
        assert listener.heard == []


class TestBroadcast:
    @pytest.mark.parametrize("framework", ["torch", "numpy"])
    @pytest.mark.parametrize("sign", ["-", "+", "*", "/", "==", "<"])
    def test_a_row_met_a_column(self, framework: Any, sign: str) -> None:
        listener = Listener()
        result = operator(listener, sign, tensor(N, 1, framework=framework), tensor(N, framework=framework))
        assert listener.only("broadcast")["shape"] == (N, N) == result.shape

    def test_a_function_met_them(self) -> None:
        listener = Listener()
        function(listener, "torch.mul", tensor(4, 1), tensor(5))
        function(listener, "torch.where", tensor(4, 5, dtype="bool"), tensor(4, 1), tensor(5))
        function(listener, "numpy.subtract", tensor(4, 1, framework="numpy"), tensor(5, framework="numpy"))
        assert listener.kinds() == ["broadcast"] * 3
        assert [facts["operation"] for _, facts in listener.heard] == ["multiplication", "torch.where", "subtraction"]

    @pytest.mark.parametrize(
        ("left", "right"),
        [((4, 5), (5,)), ((4, 1), (4, 5)), ((4, 1), (1,)), ((N, M), (N, 1)), ((N,), (N,)), ((), (3,))],
    )
    def test_one_operand_that_grows_is_not(self, left: Any, right: Any) -> None:
        listener = Listener()
        operator(listener, "-", tensor(*left), tensor(*right))
        assert listener.heard == []

    def test_a_size_that_may_be_one_is_not(self) -> None:
        listener = Listener()
        operator(listener, "-", tensor(S.symbol(), 1), tensor(S.symbol()))
        assert listener.heard == []

    def test_a_matrix_against_its_own_reduction(self) -> None:
        listener = Listener()
        x = tensor(N, N, framework="numpy")
        operator(listener, "-", x, method(listener, "mean", x, Const(1)))
        facts = listener.only("one_sided")
        assert facts["right"].reduced == (1,)
        assert facts["right"].source is x
        operator(listener, "-", x, method(listener, "mean", x, Const(1), keepdims=TRUE))
        assert listener.kinds().count("one_sided") == 1


# Of these no two that differ are one shape to a loss that broadcasts nothing.
SHAPES: list[tuple[int, ...]] = [(), (1,), (1, 1), (4,), (4, 1), (1, 4), (4, 2), (4, 4), (2, 4, 1)]
REFUSE = ["binary_cross_entropy", "binary_cross_entropy_with_logits"]


class TestLoss:
    @pytest.mark.parametrize("name", REFUSE)
    def test_what_torch_refuses_is_told_and_nothing_else(self, name: str) -> None:
        torch = pytest.importorskip("torch", reason="torch says what it refuses")
        loss = getattr(torch.nn.functional, name)
        for a, b in itertools.product(SHAPES, SHAPES):
            try:
                loss(torch.full(a, 0.5), torch.full(b, 0.5))
                refused = False
            except ValueError:
                refused = True
            listener = Listener()
            function(listener, f"torch.nn.functional.{name}", tensor(*a), tensor(*b))
            assert [facts["refused"] for _, facts in listener.heard] == [True] * refused, (a, b)

    @pytest.mark.parametrize("name", REFUSE)
    @pytest.mark.parametrize("sizes", [((N, M), (N, 3)), ((N,), (M,)), ((S.symbol(), 1), (S.symbol(), S.symbol()))])
    def test_sizes_that_may_be_equal_are_not_told(self, name: str, sizes: Any) -> None:
        listener = Listener()
        function(listener, f"torch.nn.functional.{name}", *(tensor(*shape) for shape in sizes))
        assert listener.heard == []

    @pytest.mark.parametrize("layer", ["BCELoss", "BCEWithLogitsLoss"])
    def test_a_module_that_refuses_is_told_by_its_name(self, layer: str) -> None:
        listener = Listener()
        criterion = modules.construct(ops.Call(f"torch.nn.{layer}"), f"torch.nn.{layer}", [], {})
        listener.call(criterion, [tensor(N, 1), tensor(N)], {}, None)
        assert listener.only("loss")["operation"] == f"nn.{layer}"
        listener.call(criterion, [tensor(N, 1), tensor(N, 1)], {}, None)
        assert len(listener.heard) == 1

    @pytest.mark.parametrize(
        "name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "kl_div"]
    )
    def test_a_column_against_a_row(self, name: str) -> None:
        listener = Listener()
        result = function(listener, f"torch.nn.functional.{name}", tensor(N, 1), tensor(N))
        assert listener.only("loss")["operation"] == f"F.{name}"
        assert result.shape == ()

    def test_a_module_is_told_by_its_name(self) -> None:
        listener = Listener()
        loss = modules.construct(ops.Call("torch.nn.MSELoss"), "torch.nn.MSELoss", [], {})
        modules.call_module(ops.Call("loss", interpreter=listener), loss, [tensor(4, 1), tensor(4)], {})
        assert listener.only("loss")["operation"] == "nn.MSELoss"

    @pytest.mark.parametrize(
        ("left", "right"), [((4, 1), (4, 1)), ((N,), (N,)), ((4, 1), ()), ((4, 1), (1,)), ((4, 3), (S.symbol(), 3))]
    )
    def test_equal_or_single_is_not(self, left: Any, right: Any) -> None:
        listener = Listener()
        function(listener, "torch.nn.functional.mse_loss", tensor(*left), tensor(*right))
        assert listener.heard == []

    def test_cross_entropy_has_another_target(self) -> None:
        listener = Listener()
        function(listener, "torch.nn.functional.cross_entropy", tensor(8, 5), tensor(8, dtype="int64"))
        assert listener.heard == []


class TestRankOne:
    def test_transposes_and_their_products(self) -> None:
        listener = Listener()
        a = tensor(5, framework="numpy")
        attribute = ops.attribute("numpy", "T")
        assert attribute is not None
        turned = ops.apply(attribute, ops.Call("T", interpreter=listener), [a], {})
        assert isinstance(turned, Tensor)
        assert turned.source is a
        assert listener.only("rank_one_transpose")["spelling"] == ".T"
        function(listener, "numpy.dot", a, turned)
        operator(listener, "@", a, turned)
        operator(listener, "*", a, turned)
        assert [facts["operation"] for kind, facts in listener.heard if kind == "rank_one_product"] == [
            "np.dot",
            "@",
            "*",
        ]

    def test_a_plain_product_is_not(self) -> None:
        listener = Listener()
        a = tensor(5, framework="numpy")
        operator(listener, "@", a, a)
        method(listener, "dot", a, a)
        # A quadratic form may be made of it; by itself that is nothing to report.
        assert {kind for kind, _ in listener.heard} == {"vector_product"}

    def test_a_matrix_is_needed(self) -> None:
        listener = Listener()
        function(listener, "numpy.linalg.inv", tensor(3, framework="numpy", dtype="float64"))
        assert listener.only("rank_one_matrix")["operation"] == "np.linalg.inv"

    @pytest.mark.parametrize(
        "path", ["numpy.zeros", "torch.randn", "numpy.random.rand", "torch.ones", "numpy.random.randn"]
    )
    def test_creation(self, path: str) -> None:
        listener = Listener()
        function(listener, path, Const(5))
        assert listener.only("rank_one_creation")["tensor"].shape == (5,)

    @pytest.mark.parametrize("path", ["numpy.arange", "torch.arange"])
    def test_a_range_is_no_vector(self, path: str) -> None:
        listener = Listener()
        function(listener, path, Const(5))
        assert listener.heard == []


class TestMarks:
    def test_what_is_spelled_out(self) -> None:
        listener = Listener()
        x = tensor(N)
        wide = indexing.getitem(ops.Call("getitem"), x, Sequence("tuple", [Slice(NONE, NONE, NONE), NONE]))
        assert isinstance(wide, Tensor)
        for one in (
            wide,
            method(listener, "unsqueeze", x, Const(1)),
            method(listener, "sum", tensor(N, M), Const(1), keepdim=TRUE),
            function(listener, "numpy.expand_dims", tensor(N, framework="numpy"), Const(1)),
            function(listener, "einops.rearrange", x, Const("n -> n 1")),
            function(listener, "torch.outer", x, x),
        ):
            assert "spelled" in one.marks, one

    def test_where_an_axis_came_from(self) -> None:
        listener = Listener()
        assert "reshaped" in method(listener, "reshape", tensor(N), Const(-1), Const(1)).marks
        assert "literal" in function(listener, "torch.zeros", Const(4), Const(1)).marks
        assert "squeezed" in method(listener, "squeeze", tensor(4, 1)).marks
        layer = modules.construct(ops.Call("Linear"), "torch.nn.Linear", [Const(8), Const(1)], {})
        column = modules.call_module(ops.Call("layer"), layer, [tensor(N, 8)], {})
        assert isinstance(column, Tensor)
        assert (column.marks, column.how) == (frozenset({"column"}), "nn.Linear(8, 1)")
        active = method(listener, "sigmoid", column)
        assert (active.marks, active.how) == (column.marks, column.how)
        kept = indexing.getitem(ops.Call("getitem"), active, Slice(NONE, Const(1), NONE))
        assert isinstance(kept, Tensor)
        assert "column" in kept.marks
        assert method(listener, "squeeze", column, Const(-1)).marks == frozenset()

    def test_a_sequential_calls_its_members(self) -> None:
        listener = Listener()
        made = [
            modules.construct(ops.Call("x"), f"torch.nn.{name}", [Const(one) for one in args], {})
            for name, args in (("Flatten", ()), ("Linear", (40, 16)), ("ReLU", ()), ("Linear", (16, 1)))
        ]
        net = modules.construct(ops.Call("x"), "torch.nn.Sequential", made, {})
        result = modules.call_module(ops.Call("net", interpreter=listener), net, [tensor(N, 2, 20)], {})
        assert isinstance(result, Tensor)
        assert result.shape == (N, 1)
        assert "column" in result.marks


class TestUnknown:
    def test_an_unknown_operand_leaves_the_rank_open(self) -> None:
        result = operator(Listener(), "+", tensor(N, M), Opaque("other"))
        assert (result.framework, result.shape) == ("torch", None)

    def test_a_resized_tensor_is_known_no_more(self) -> None:
        x = tensor(4)
        entry = ops.method("torch", "unsqueeze_")
        assert entry is not None
        assert ops.apply(entry, ops.Call("unsqueeze_"), [x, Const(0)], {}) is x
        assert x.shape is None

    def test_an_in_place_twin_returns_its_receiver(self) -> None:
        x = tensor(4, 1)
        listener = Listener()
        assert method(listener, "add_", x, tensor(1)) is x
        assert method(listener, "relu_", x) is x

    def test_arguments_that_do_not_fit_claim_nothing_but_the_framework(self) -> None:
        result = function(Listener(), "torch.softmax", tensor(4), Const(0), Const(1), Const(2), Const(3), Const(4))
        assert (result.framework, result.shape, result.dtype) == ("torch", None, None)

    def test_a_slice_to_an_unknown_end(self) -> None:
        x = tensor(N)
        short = indexing.getitem(ops.Call("getitem"), x, Slice(NONE, Number(M), NONE))
        rest = indexing.getitem(ops.Call("getitem"), x, Slice(Const(1), NONE, NONE))
        assert isinstance(short, Tensor)
        assert isinstance(rest, Tensor)
        assert S.show_shape(short.shape) == "(?,)"
        assert S.show_shape(rest.shape) == "(N - 1,)"

    def test_nothing_of_torch_is_imported(self) -> None:
        import subprocess
        import sys

        code = (
            "import sys; sys.path[:0] = sys.argv[1:];"
            "from tensorlint.inference import ops; from tensorlint.inference.ops import modules;"
            "ops.function('torch.zeros'); ops.function('numpy.zeros'); ops.function('einops.reduce');"
            "modules.known('torch.nn.Linear');"
            "assert not {'torch', 'numpy', 'einops'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-S", "-c", code, *[path for path in sys.path if path]], check=True)

    def test_flags(self) -> None:
        assert method(Listener(), "any", tensor(4), keepdim=FALSE).dtype == "bool"

    def test_a_plain_number_of_unknown_value_keeps_the_shape(self) -> None:
        scaled = operator(Listener(), "*", tensor(N, M), Opaque("scale", kind=PLAIN))
        assert (scaled.shape, scaled.strides, scaled.dtype) == ((N, M), (M, 1), "float32")
        counted = operator(Listener(), "*", tensor(N, dtype="int64"), Opaque("scale", kind=PLAIN))
        assert (counted.shape, counted.dtype) == ((N,), None)

"""The guard as people meet it: the text, the scopes, whose code is judged, and that it leaves nothing behind."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
import threading

import pytest

from pytest_tensorcheck import assert_shape
from pytest_tensorcheck.broadcasting import BroadcastError, allow_broadcast, no_broadcast, observe, watch
from pytest_tensorcheck.observations import TensorcheckFailure

torch = pytest.importorskip("torch", reason="needs torch")
np = pytest.importorskip("numpy", reason="needs numpy")


def here(offset=0):
    return f"test_broadcasting_guard.py:{sys._getframe(1).f_lineno + offset}"


# -- text --------------------------------------------------------------------------------------------------------------


def test_the_error_names_operands_makers_and_remedy():
    layer = torch.nn.Linear(8, 1)
    with pytest.raises(BroadcastError) as caught, no_broadcast():
        pred = layer(torch.rand(4, 8))
        target = torch.rand(4)
        loss = ((pred - target) ** 2).mean()  # noqa: F841
    failed, made_target, made_pred = here(-1), here(-2), here(-3)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(f"{failed}: column (4, 1) and vector (4,) became (4, 4) in subtraction")
    assert lines[1].strip().startswith("loss = ((pred - target) ** 2).mean()")
    assert lines[2].strip().startswith("pred (4, 1) was made by nn.Linear at ")
    assert lines[2].endswith(made_pred)
    assert lines[3].strip().startswith("target (4,) was made by torch.rand at ")
    assert lines[3].endswith(made_target)
    assert "squeeze it: pred.squeeze(-1); if every pair is meant, write target[None, :]" in lines[4]
    assert lines[4].endswith("[TSR111]")


def test_the_maker_of_each_of_many_results_is_known_and_found_out_once(monkeypatch):
    from pytest_tensorcheck.broadcasting import torch_mode

    asked = []
    remember = torch_mode.BroadcastMode._remember

    def counting(mode, *given):
        asked.append(given[1].__name__)
        return remember(mode, *given)

    monkeypatch.setattr(torch_mode.BroadcastMode, "_remember", counting)
    for made in (lambda table: table.unbind(), lambda table: [*table]):
        asked.clear()
        with observe() as seen:
            rows = made(torch.rand(50, 4, 1))
            rows[49] - torch.rand(4)
        (only,) = seen
        assert f"was made by .unbind() at {only.where.shown_file}:" in only.detail
        assert len(asked) < 10


class Box(torch.distributions.Distribution):
    """A distribution of one's own, over boxes of `event` axes."""

    arg_constraints: dict = {}

    def __init__(self, center, event):
        self.center = center
        shape = center.shape
        at = len(shape) - event
        super().__init__(shape[:at], shape[at:], validate_args=False)

    def log_prob(self, value):
        return -(value - self.center).abs().sum(-1)


def test_a_distribution_of_ones_own_over_events_with_axes_broadcasts_by_its_rule():
    with observe() as seen:
        assert Box(torch.rand(2, 1), 1).log_prob(torch.rand(2)).shape == (2,)
    assert seen == []
    with observe() as seen:
        Box(torch.rand(2, 1), 0).log_prob(torch.rand(2))
    assert [one.message for one in seen] == ["vector (2,) and column (2, 1) became (2, 2) in subtraction"]


def test_the_remedies_do_what_they_say():
    """Whatever the message says to write is written, and must be silent; the squeeze must give one axis."""
    pred, target = torch.rand(4, 1), torch.rand(4)
    with no_broadcast():
        assert (pred.squeeze(-1) - target).shape == (4,)
        assert (pred - target[None, :]).shape == (4, 4)


def test_losses_cite_the_loss_rule_and_observations_carry_facts():
    with observe() as seen:
        torch.nn.functional.l1_loss(torch.rand(3, 1), torch.rand(3))
    (only,) = seen
    assert only.check == "broadcast"
    assert only.message == "column (3, 1) and vector (3,) became (3, 3) in l1_loss"
    assert only.facts["rule"] == "TSR112"
    assert only.facts["shapes"] == [[3, 1], [3]]
    assert only.facts["result"] == [3, 3]
    assert str(only.where).endswith(here(-7))
    assert only.detail.endswith("[TSR112]")


def test_operands_made_before_the_guard_are_said_to_be():
    a, b = torch.rand(3, 1), torch.rand(3)
    with observe() as seen:
        a - b
    assert "a (3, 1) was made before the guard was looking" in seen[0].detail


def test_operands_keep_the_order_of_the_source():
    with observe() as seen:
        a, b = torch.rand(1, 3), torch.rand(4, 1)
        a - b
        b.mul(a)
        torch.add(input=b, other=a)
    said = [each.message for each in seen]
    assert said[0] == "row (1, 3) and column (4, 1) became (4, 3) in subtraction"
    assert said[1] == "column (4, 1) and row (1, 3) became (4, 3) in multiplication"
    for each in seen[1:]:
        assert each.facts["operands"] == ["b", "a"]
        assert each.facts["shapes"] == [[4, 1], [1, 3]]


def test_a_loop_is_one_observation_with_a_count():
    with observe() as seen:
        for _ in range(5):
            torch.rand(3, 1) - torch.rand(3)
        torch.rand(3, 1) - torch.rand(3)
    assert [each.count for each in seen] == [5, 1]


def test_the_error_is_an_assertion_that_pickles():
    import pickle

    with pytest.raises(TensorcheckFailure) as caught, no_broadcast():
        torch.rand(3, 1) - torch.rand(3)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# -- scopes ------------------------------------------------------------------------------------------------------------


def test_blocks_nest_and_the_innermost_decides():
    with observe() as outer:
        with pytest.raises(BroadcastError), no_broadcast():
            torch.rand(3, 1) - torch.rand(3)
        assert not outer
        with observe() as inner:
            torch.rand(3, 1) - torch.rand(3)
        assert len(inner) == 1
        assert not outer
        torch.rand(3, 1) * torch.rand(3)
    assert len(outer) == 1


def test_allow_broadcast_ends_with_its_block_and_does_not_reach_into_new_guards():
    with observe() as seen:
        with allow_broadcast():
            torch.rand(3, 1) - torch.rand(3)
            with observe() as inner:
                torch.rand(3, 1) - torch.rand(3)
        assert len(inner) == 1
        assert not seen
        torch.rand(3, 1) - torch.rand(3)
    assert len(seen) == 1


def test_nothing_is_left_behind_also_after_an_exception():
    from torch.overrides import _get_current_function_mode_stack

    from pytest_tensorcheck.shapes.checker import on_named

    before, hooks = list(_get_current_function_mode_stack()), list(on_named)
    t = torch.rand(3, 1)
    with pytest.raises(ZeroDivisionError), no_broadcast():
        assert len(_get_current_function_mode_stack()) == len(before) + 1
        t = t + 1
        1 / 0
    assert _get_current_function_mode_stack() == before
    assert on_named == hooks
    assert not vars(t)
    t - torch.rand(3)


def test_results_are_the_same_with_and_without():
    def work():
        torch.manual_seed(0)
        x = torch.rand(4, 3, requires_grad=True)
        y = (torch.nn.functional.softmax(x, 1) * x.sum(1, keepdim=True)).pow(2).sum()
        y.backward()
        return y.item(), x.grad.tolist(), torch.rand(3).tolist()

    plain = work()
    with observe():
        assert work() == plain


def test_other_threads_are_not_judged():
    failures = []

    def other():
        try:
            torch.rand(3, 1) - torch.rand(3)
        except BroadcastError as error:
            failures.append(error)

    with no_broadcast():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failures


def test_memory_is_not_held():
    import gc
    import weakref

    with observe():
        t = torch.rand(1000)
        gone = weakref.ref(t)
        u = t * 2
        del t
        gc.collect()
        assert gone() is None
        for _ in range(20_000):
            torch.rand(())
        del u
        from torch.overrides import _get_current_function_mode_stack

        assert len(_get_current_function_mode_stack()[-1].entries) < 10_000


# -- whose code --------------------------------------------------------------------------------------------------------

LIBRARY = """
def subtract(a, b):
    return a - b

def call_back(function, *args):
    return function(*args)
"""


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "somebodys_library.py").write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("somebodys_library", folder / "somebodys_library.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_installed_libraries_are_not_judged_but_the_user_called_from_them_is(library):
    with observe() as seen:
        library.subtract(torch.rand(3, 1), torch.rand(3))
        assert not seen
        library.call_back(lambda a, b: a - b, torch.rand(3, 1), torch.rand(3))
    assert len(seen) == 1
    assert str(seen[0].where).endswith(here(-2))


def test_watched_numpy_arrays_in_a_library_are_not_judged(library):
    with observe() as seen:
        library.subtract(watch(np.ones((3, 1))), watch(np.ones(3)))
    assert not seen


# -- names: the one-sided kind -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (lambda x: x - x.mean(1), lambda x: x - x.mean(1, keepdim=True)),
        (lambda x: x / x.sum(dim=1), lambda x: x / x.sum(dim=0)),
        (lambda x: x - x.max(1)[0], lambda x: x - x.max(1)[0][:, None]),
        (lambda x: x - x.relu().sum(-1), lambda x: x - x.relu().sum(-1).unsqueeze(1)),
        (lambda x: x.t() - x.mean(0), lambda x: x.t() - x.mean(1)),
        (lambda x: x * x[:, 0], lambda x: x * x[0]),
        (lambda x: x.exp() / x.logsumexp(1), lambda x: x.exp() / x.logsumexp(1, True)),
    ],
)
def test_the_wrong_axis_of_a_square_matrix_is_seen_by_its_names(bad, good):
    with observe() as seen:
        x = torch.rand(4, 4)
        assert_shape(x, "batch dim")
        good(x)
        assert not seen, seen[0].detail
        bad(x)
    assert len(seen) == 1
    assert "batch" in seen[0].message
    assert "dim" in seen[0].message
    assert "keepdim=True" in seen[0].detail


def test_without_names_or_with_a_symmetric_matrix_nothing_is_said():
    with observe() as seen:
        x = torch.rand(4, 4)
        x - x.mean(1)
        assert_shape(x, "n n")
        x - x.mean(1)
        x + x.t()
        y = torch.rand(4)
        assert_shape(y, "other")
        x - y
        z = torch.rand(4, 4)
        assert_shape(z, "batch dim")
        z - y
        z + z.t()
        z.reshape(2, 8)
        z @ z.t()
    assert not seen


def test_only_a_certain_clash_of_names_counts():
    from pytest_tensorcheck.broadcasting.axis_names import conflict

    assert conflict(("batch", "dim"), ("batch",)) == (-1, "dim", "batch")
    assert conflict(("batch",), ("batch", "dim")) == (-1, "batch", "dim")
    assert conflict(("batch", "dim"), ("dim",)) is None
    assert conflict(("batch", "dim"), ("other",)) is None
    assert conflict(("batch", "dim"), (None,)) is None
    assert conflict(("batch", "dim"), ("dim", "batch")) is None
    assert conflict(("x", "batch", "dim"), ("dim", "batch")) is None
    assert conflict(None, ("dim",)) is None


def test_the_names_of_numpy_axes_are_followed_too():
    with observe() as seen:
        x = watch(np.random.rand(4, 4))
        assert_shape(x, "batch dim")
        x - x.mean(axis=0)
        x - x.mean(axis=1, keepdims=True)
        x - x.mean(axis=1)[:, None]
        assert not seen
        x - x.mean(axis=1)
        x - np.mean(x, axis=1)
        (x * 2).T - x.mean(axis=0)
    assert len(seen) == 3


# -- numpy -------------------------------------------------------------------------------------------------------------


def test_a_watched_array_raises_by_itself():
    x = watch(np.ones((3, 1)))
    with pytest.raises(BroadcastError, match=r"column \(3, 1\) and vector \(3,\) became \(3, 3\) in subtraction"):
        x - np.ones(3)
    with pytest.raises(BroadcastError):
        np.ones(3) - x
    with allow_broadcast():
        assert (x - np.ones(3)).shape == (3, 3)


def test_watch_is_a_view_and_takes_structures():
    base = np.ones((3, 1))
    x = watch(base)
    x[0] = 5
    assert base[0, 0] == 5
    assert isinstance(x, np.ndarray)
    assert watch(x) is x
    assert watch(3) == 3
    inside = watch({"a": [base, (base,)]})
    with pytest.raises(BroadcastError):
        inside["a"][1][0] * np.ones(3)


def test_watched_arithmetic_is_numpys():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 4)), rng.random((3, 4))
    wa, wb = watch(a), watch(b)
    pairs = [
        (wa + wb, a + b),
        (np.concatenate([wa, wb]), np.concatenate([a, b])),
        (np.where(wa > 0.5, wa, 0), np.where(a > 0.5, a, 0)),
        (wa.mean(axis=0), a.mean(axis=0)),
        (np.linalg.norm(wa, axis=1), np.linalg.norm(a, axis=1)),
        (wa @ wb.T, a @ b.T),
        (np.add.reduce(wa), np.add.reduce(a)),
        (wa.reshape(4, 3).T, a.reshape(4, 3).T),
        (np.stack([wa, b]), np.stack([a, b])),
        (np.sort(wa, axis=0), np.sort(a, axis=0)),
        (np.einsum("ij,ij->i", wa, wb), np.einsum("ij,ij->i", a, b)),
        (wa.std(axis=1, keepdims=True), a.std(axis=1, keepdims=True)),
    ]
    for mine, theirs in pairs:
        assert type(mine).__name__ == "WatchedArray", type(mine)
        np.testing.assert_array_equal(np.asarray(mine), theirs)
    for name in ("add", "subtract", "multiply"):
        out = np.zeros((3, 4))
        getattr(np, name)(wa, wb, out=out)
        np.testing.assert_array_equal(out, getattr(np, name)(a, b))
    wa += 1
    np.testing.assert_array_equal(np.asarray(wa), a)
    assert float(wa.sum()) == pytest.approx(a.sum())


def test_a_watched_module_is_numpy():
    numpy = watch(np)
    assert numpy.ndarray is np.ndarray
    assert numpy.pi == np.pi
    assert isinstance(numpy.random.default_rng(0), np.random.Generator)
    assert numpy.float32(1).dtype == np.float32
    np.testing.assert_array_equal(numpy.random.default_rng(3).random(4), np.random.default_rng(3).random(4))
    with pytest.raises(TypeError, match="numpy module"):
        watch(sys)


# -- torch's other machinery -------------------------------------------------------------------------------------------


def test_subclasses_nested_sparse_and_fake_tensors_pass_through():
    import copy
    import pickle
    import warnings

    from torch._subclasses import FakeTensorMode

    class Mine(torch.Tensor):
        pass

    with observe() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(torch.rand(3, 3).as_subclass(Mine) + torch.rand(3)) is Mine
        for layout in (torch.strided, torch.jagged):
            nested = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)], layout=layout)
            nested + nested
            nested * 2
        torch.eye(3).to_sparse() + torch.eye(3).to_sparse()
        with FakeTensorMode():
            torch.rand(3, 3) + torch.rand(3)
        torch.rand(3, device="meta") + torch.rand(3, device="meta")
        t = torch.rand(3) * 2
        pickle.loads(pickle.dumps(copy.deepcopy(t)))
    assert not seen


def test_torch_is_not_imported_for_numpy_and_its_late_import_is_said():
    program = """
        import sys, warnings
        from pytest_tensorcheck import no_broadcast, allow_broadcast, watch
        assert not {"torch", "numpy"} & set(sys.modules)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with no_broadcast():
                import numpy as np
                try:
                    watch(np.ones((3, 1))) - np.ones(3)
                except AssertionError as error:
                    assert "became (3, 3)" in str(error)
                else:
                    raise SystemExit("not seen")
            assert not said
            assert "torch" not in sys.modules
            with no_broadcast():
                import torch
        assert [str(each.message) for each in said if "first imported inside" in str(each.message)]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("with no_broadcast(): np.ones((3, 1)) - np.ones(3)", True),
        ("with observe(): np.ones((3, 1)) - np.ones(3)", False),
        ("with no_broadcast(): watch(np.ones(3)) - np.ones(3)", False),
        ("import torch\nwith no_broadcast(): torch.ones(3) - torch.ones(3)", False),
    ],
)
def test_a_block_in_which_nothing_could_be_seen_says_so(block, said):
    program = f"""
import sys, warnings
import numpy as np
from pytest_tensorcheck import no_broadcast, watch
from pytest_tensorcheck.broadcasting import observe
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
{textwrap.indent(block, "    ")}
assert [str(each.message).partition(":")[0] for each in told if "no_broadcast" in str(each.message)] == (
    ["no_broadcast() saw nothing"] if {said} else []
), told
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_compiled_exported_and_traced_programs_are_left_alone():
    program = """
        import warnings
        import torch
        from torch.fx.experimental.proxy_tensor import make_fx
        from pytest_tensorcheck.broadcasting import observe
        from pytest_tensorcheck.numerics import observe as observe_numerics

        def forward(x):
            y = x * 2
            return y * x.sum(1, keepdim=True) + x.mean() + torch.ones(4)

        class Model(torch.nn.Module):
            def forward(self, x):
                return forward(x)

        x, longer = torch.rand(5, 4), torch.rand(9, 4)
        for watch in (observe, observe_numerics):
            with watch() as seen, warnings.catch_warnings():
                warnings.simplefilter("error", torch.jit.TracerWarning)
                compiled = torch.compile(forward, backend="eager", fullgraph=True)
                assert torch.equal(compiled(x), forward(x))
                exported = torch.export.export(
                    Model(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("b")}}, strict=False
                )
                assert torch.equal(exported.module()(longer), forward(longer))
                assert torch.equal(make_fx(forward, tracing_mode="symbolic")(x)(longer), forward(longer))
                if watch is observe:  # torch.jit.trace fails under every dispatch mode, also an empty one
                    assert torch.equal(torch.jit.trace(forward, x)(longer), forward(longer))
            assert not seen
            torch._dynamo.reset()
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], check=True)


def test_a_block_knows_nothing_of_the_tensors_of_the_one_before():
    """A thread's mode is used again, block after block; what it noted of tensors and of their axes is forgotten."""

    def observed_of(column):
        with observe() as seen:
            column + torch.ones(3)
        return seen

    with observe() as seen:
        column = torch.rand(3, 1)
        assert_shape(column, "batch one")
        column + torch.ones(3)
    assert "column (3, 1) was made by torch.rand" in seen[0].detail
    (again,) = observed_of(column)
    assert "was made by torch.rand" not in again.detail
    with observe() as outer, observe() as inner:  # one mode feeds both
        column + torch.ones(3)
    assert (len(outer), len(inner)) == (0, 1)
    with pytest.raises(ZeroDivisionError), observe():
        torch.ones(2) / (1 // 0)
    assert len(observed_of(column)) == 1
    assert torch._C._len_torch_function_stack() == 0

"""`deterministic` and `run_twice` as users call them."""

from __future__ import annotations

import pickle
import random
import re
import time

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
numpy = pytest.importorskip("numpy", reason="needs numpy")

from pytest_tensorcheck import deterministic  # noqa: E402
from pytest_tensorcheck.determinism import DivergenceError, run_twice  # noqa: E402
from pytest_tensorcheck.determinism.runs import NothingToCompare  # noqa: E402


def here(offset=0):
    import sys

    return sys._getframe(1).f_lineno + offset


def test_it_returns_the_result_and_takes_arguments():
    def scaled(x, *, by):
        return x * by + torch.rand(3)

    torch.manual_seed(3)
    expected = torch.ones(3) * 2 + torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(deterministic(scaled, torch.ones(3), by=2), expected)


def test_the_message_names_the_line_the_cause_the_size_and_the_remedy():
    line = here(4)

    def run():
        x = torch.ones(3)
        return x * time.perf_counter()

    with pytest.raises(DivergenceError) as caught:
        deterministic(run)
    text = str(caught.value)
    assert re.match(rf"run 1 and run 2 differ first in aten\.mul at .*test_divergence_runs\.py:{line}\n", text)
    assert "    return x * time.perf_counter()\n" in text
    assert "cause: Python state, time or the operating system" in text
    assert "time.perf_counter() reads the clock" in text
    assert re.search(r"difference: [\d.]+ in run 1, [\d.]+ in run 2", text)
    assert "remedy: pass the value in as an argument" in text


def test_a_captured_model_that_is_trained_is_named_with_its_parameter_and_the_line_that_wrote():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    with pytest.raises(DivergenceError) as caught:
        deterministic(step)
    text = str(caught.value)
    assert "a tensor changed between the runs: the parameter model." in text
    assert "optimizer.step()" in text
    assert "copy.deepcopy(model)" in text
    assert caught.value.divergence.evidence[0].where.line == step.__code__.co_firstlineno + 3


def test_an_argument_changed_in_place_is_named():
    def run(x):
        y = x.sum()
        x += 1
        return y

    with pytest.raises(DivergenceError, match="changed between the runs: x is not what"):
        deterministic(run, torch.zeros(3))


def test_uninitialised_memory_is_named_with_the_line_of_its_empty():
    def run():
        x = torch.empty(4)
        x[0] = 1
        return x.sum()

    with pytest.raises(DivergenceError) as caught:
        deterministic(run)
    first = run.__code__.co_firstlineno
    divergence = caught.value.divergence
    assert (divergence.where.line, divergence.evidence[0].where.line) == (first + 3, first + 1)
    assert "uninitialised memory" in str(caught.value)


def test_a_difference_of_numpy_alone_is_told_though_torch_saw_nothing():
    def run():
        return numpy.random.default_rng().normal(size=3)

    with pytest.raises(DivergenceError) as caught:
        deterministic(run)
    assert "default_rng() is seeded by the operating system" in str(caught.value)


def test_a_shuffled_set_of_arguments_is_told_as_order():
    orders = iter([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])

    def run():
        total = torch.zeros(())
        for value in next(orders, [2.0, 3.0, 1.0]):
            total = total * 2 + torch.tensor(value)
        return total

    with pytest.raises(DivergenceError, match="cause: iteration order"):
        deterministic(run)


def test_an_error_of_the_second_run_alone_is_the_cause_of_the_divergence():
    calls = []

    def run():
        x = torch.ones(2) + 1
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("late")
        return x

    with pytest.raises(DivergenceError) as caught:
        deterministic(run)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "raised KeyError" in str(caught.value)


def test_an_error_of_the_first_run_is_the_users():
    calls = []

    def run():
        calls.append(1)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        deterministic(run)
    assert calls == [1]


@pytest.mark.parametrize("runs", [1, 0, -1, True, 2.5, "2"])
def test_fewer_than_two_runs_would_compare_nothing(runs):
    with pytest.raises(ValueError, match="at least two runs"):
        deterministic(lambda: torch.ones(2) + 1, runs=runs)


@pytest.mark.parametrize("threads", [0, (), (1, 0), (1, "2")])
def test_thread_counts_must_be_positive(threads):
    with pytest.raises(ValueError, match="threads="):
        deterministic(lambda: torch.ones(2) + 1, threads=threads)


def test_what_cannot_be_compared_is_said():
    with pytest.raises(TypeError, match="takes a function to run, not Tensor"):
        deterministic(torch.ones(2))
    with pytest.raises(NothingToCompare, match="ran no torch operation"):
        deterministic(lambda: None)

    async def run():
        return torch.ones(2)

    with pytest.raises(TypeError, match=r"asyncio.run"):
        deterministic(run)


def test_more_runs_find_what_two_do_not():
    calls = []

    def run():
        calls.append(1)
        return torch.ones(2) * (2 if len(calls) == 3 else 1)

    assert deterministic(run).tolist() == [1, 1]
    calls.clear()
    with pytest.raises(DivergenceError, match="run 2 and run 3 differ"):
        deterministic(run, runs=3)


def test_threads_are_set_for_each_run_and_put_back():
    before = torch.get_num_threads()
    seen = []

    def run():
        seen.append(torch.get_num_threads())
        return torch.ones(3) + 1

    deterministic(run, threads=(1, 2))
    assert seen == [1, 2]
    assert torch.get_num_threads() == before


def test_the_random_state_goes_on_as_after_one_run():
    torch.manual_seed(0), random.seed(0)
    (torch.rand(3), random.random())
    expected = (torch.rand(1).item(), random.random())
    torch.manual_seed(0), random.seed(0)
    deterministic(lambda: (torch.rand(3), random.random()))
    assert (torch.rand(1).item(), random.random()) == expected


def test_the_error_survives_pickling():
    calls = []

    def run():
        calls.append(1)
        return torch.ones(2) * len(calls)

    with pytest.raises(DivergenceError) as caught:
        deterministic(run)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.divergence.where == caught.value.divergence.where


def test_fixtures_start_the_second_run_as_they_started_the_first():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    state = {
        "model": model,
        "optimizer": optimizer,
        "array": numpy.zeros(3, dtype=numpy.float32),
        "rng": numpy.random.default_rng(1),
        "generator": torch.Generator().manual_seed(1),
        "batches": [torch.ones(4, 3)],
    }

    def test_body():
        state["array"] += 1
        x = state["batches"][0].add_(torch.from_numpy(state["array"]))
        x = x + float(state["rng"].normal()) + torch.rand(3, generator=state["generator"])
        for _ in range(2):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
        model.eval()
        assert torch.isfinite(model(x)).all()

    run_twice(test_body, state=state)
    model.train()
    with pytest.raises(DivergenceError):
        run_twice(test_body)


def test_a_body_without_torch_is_compared_by_its_assertions():
    run_twice(lambda: None)


def test_settings_hang_on_the_function():
    from pytest_tensorcheck.determinism.settings import settings

    assert deterministic.settings is settings


def test_autograd_through_the_function_under_test_still_works():
    weight = torch.ones(3, requires_grad=True)
    result = deterministic(lambda: (weight * 2).sum())
    result.backward()
    assert weight.grad.tolist() == [2, 2, 2]


def test_the_padding_of_a_kernels_workspace_accuses_nobody():
    lengths = torch.tensor([3, 2]), torch.tensor([2, 1])
    logits = torch.randn(5, 2, 4)
    targets = torch.randint(1, 4, (2, 2))

    def run():
        x = logits.clone().requires_grad_()
        torch.nn.functional.ctc_loss(x.log_softmax(-1), targets, *lengths).backward()
        return x.grad

    for _ in range(10):
        deterministic(run)


def test_uninitialised_memory_that_is_returned_is_named():
    def run():
        return [torch.empty(3)]

    with pytest.raises(DivergenceError, match="uninitialised memory: what the function returns shows memory"):
        deterministic(run)


@torch.library.custom_op("tensorcheck_runs::late", mutates_args=())
def late(x: torch.Tensor) -> torch.Tensor:
    return x + time.perf_counter_ns() % 999_983


@late.register_fake
def _(x):
    return x.clone()


def test_the_line_inside_a_function_compiled_as_one_graph():
    def body(x):
        y = x.sin()
        z = torch.ops.tensorcheck_runs.late(y)
        return z.sum()

    compiled = torch.compile(body, backend="eager", fullgraph=True)
    with pytest.raises(DivergenceError) as caught:
        deterministic(lambda: compiled(torch.ones(3)))
    assert caught.value.divergence.where.line == body.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged) * 2).sum(),
        lambda: (torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]) * 2).to_padded_tensor(0.0),
        lambda: torch.func.hessian(lambda x: (x**3).sum())(torch.randn(3)),
        lambda: torch.nn.Linear(2, 2, device="meta").weight.shape,
        lambda: torch.ones(4).resize_(6)[:4].sum(),
    ],
    ids=["jagged", "nested", "functorch", "meta", "resize_"],
)
@pytest.mark.filterwarnings("ignore")
def test_tensors_of_other_kinds_pass(make):
    deterministic(lambda: (torch.ones(1) + 1, make()))


def test_what_resize_adds_is_uninitialised():
    with pytest.raises(DivergenceError, match="uninitialised memory"):
        deterministic(lambda: torch.ones(2).resize_(4).sum())


@pytest.mark.filterwarnings("ignore")
def test_quantised_layers_pass():
    def run():
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))
        return torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, torch.qint8)(torch.ones(1, 4))

    deterministic(run)

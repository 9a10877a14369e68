"""What a test could see of the checks while they watch it: calls of its own hooks into torch, its graphs, functions of ours."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the checks watch torch")
pytest.importorskip("numpy", reason="one of the seeds is numpy's")

CHECKS = {
    "broadcast": ["--tensorcheck"],
    "numerics": ["--tensorcheck-numerics=report", "--tensorcheck-broadcast=off"],
    "sync": ["--tensorcheck-sync=report", "--tensorcheck-broadcast=off"],
    "record": ["--tensorcheck-record=log.gz", "--tensorcheck-broadcast=off"],
}
# Each alone in this process, where the compiler is loaded; all in a process where it is first imported under them.
ALONE_AND_ALL = [*CHECKS, "all in a new process"]
HOOKS = """
    import pytest
    import torch
    from torch.overrides import TorchFunctionMode

    class Told(torch.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            Told.calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    @pytest.fixture(autouse=True)
    def forget():
        Told.calls.clear()

    @pytest.fixture
    def listening():
        with Listening():
            yield

    column, vector, table = torch.ones(3, 1), torch.ones(3), torch.ones(3, 3)

    def programs(column, vector, table):
        column - vector
        torch.sub(column, other=vector)
        column - table
        vector.unsqueeze(0) * column
        table[:, None].flatten(1) @ torch.cat([table, column], dim=1)
        torch.nn.functional.mse_loss(column, table)
        torch.broadcast_tensors(column, vector)
        torch.distributions.Normal(column, table).log_prob(vector)

    def heard(*tensors):
        Told.calls.clear()
        programs(*tensors)
        return list(Told.calls)

    def kinds():
        return [each.as_subclass(Told) for each in (column, vector, table)]
"""


@pytest.fixture(scope="module")
def _compiler():
    """Torch's compiler and tracer load parts of themselves at their first use: now, as pytester forgets what a session imports."""
    from torch._higher_order_ops.while_loop import while_loop
    from torch.fx.experimental.proxy_tensor import make_fx

    for mode in ("real", "fake", "symbolic"):
        make_fx(torch.func.grad(lambda x: (x**3).std()), tracing_mode=mode)(torch.ones(3))
    for operator in (
        lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)),
        lambda x: while_loop(lambda at, y: at < 1, lambda at, y: (at + 1, y + 1), (torch.zeros((), dtype=int), x))[1],
    ):
        torch.compile(operator, backend="eager")(torch.ones(2))
    torch.library.opcheck(torch.ops.aten.relu.default, (torch.ones(2),))
    torch._dynamo.reset()


@pytest.fixture
def under(pytester, _compiler):
    """A session under one of ALONE_AND_ALL, or under no check."""

    def run(check=None, *options):
        arguments = ["-q", "-W", "ignore", "-p", "no:randomly", *options]
        if check is None or check in CHECKS:
            return pytester.runpytest_inprocess(*arguments, *CHECKS.get(check, ()))
        every = [option for each in CHECKS.values() for option in each if option != "--tensorcheck-broadcast=off"]
        return pytester.runpytest_subprocess(*arguments, *every)

    return run


@pytest.fixture
def hooks_heard(pytester):
    """What a subclass and a mode hear of `programs` in a test, as the two lines that the test prints."""
    pytester.makeconftest(HOOKS)
    pytester.makepyfile("""
        from conftest import column, heard, kinds, table, vector

        def test_subclass(): print("\\nHEARD", heard(*kinds()))
        def test_mode_of_a_fixture(listening): print("\\nHEARD", heard(column, vector, table))
        """)

    def run(*options):
        result = pytester.runpytest_inprocess("-s", "-q", "-W", "ignore", "-p", "no:randomly", *options)
        result.assert_outcomes(passed=2)
        return [line for line in result.stdout.lines if line.startswith("HEARD")]

    return run


def test_the_users_own_hooks_hear_of_no_call_of_the_broadcast_check(hooks_heard):
    plain = hooks_heard()
    assert "'sub'" in plain[0]
    under = hooks_heard("--tensorcheck")
    # Python code of torch's hands its tensors over once more where a mode is open, which is the mode's nature.
    assert [line for line in under if "__get__" in line and "__get__" not in plain[under.index(line)]] == []
    assert len(under[0].split("__get__")) == len(plain[0].split("__get__"))
    assert len(under[1].split("__get__")) == len(plain[1].split("__get__"))


@pytest.mark.parametrize("check", ALONE_AND_ALL)
def test_a_graph_that_the_test_makes_has_no_operation_of_ours(pytester, under, check):
    pytester.makepyfile("""
        import pytest
        import torch
        from torch.fx.experimental.proxy_tensor import make_fx

        def f(x):
            y = torch.relu(x).half().float() / x.new_zeros(3)
            x.add_(1)
            return (x[:, None] - y).t().contiguous().mean()

        def operations(graph): return [str(node.target) for node in graph.graph.nodes]

        @pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
        def test_make_fx(mode):
            print("\\nGRAPH", operations(make_fx(f, tracing_mode=mode)(torch.ones(3))))

        def test_gradient():
            graph = make_fx(torch.func.grad(lambda x: (x**3).std()))(torch.rand(400))
            print("\\nGRAPH", operations(graph))
        """)

    def graphs(check=None):
        result = under(check, "-s")
        result.assert_outcomes(passed=4)
        return [line for line in result.stdout.lines if line.startswith("GRAPH")]

    plain = graphs()
    assert len(plain) == 4
    assert graphs(check) == plain


def test_a_log_takes_zeros_that_have_no_memory(pytester):
    """Forward-mode differentiation makes them; to read them below autograd ends the process."""
    pytester.makepyfile("""
        import torch

        def test_hessian():
            assert torch.func.hessian(lambda x: (x**3).sum())(torch.ones(3)).shape == (3, 3)

        def test_large_and_strided():
            zeros = torch._efficientzerotensor((300, 3)).t()
            assert float((zeros + torch.ones(3, 300)).sum()) == 900
        """)
    sessions = [
        ["-q", "-W", "ignore", option] for option in ("--tensorcheck-record=log.gz", "--tensorcheck-compare=log.gz")
    ]
    result = pytester.runpython_c(f"import pytest\nprint('ENDED', [int(pytest.main(each)) for each in {sessions}])")
    result.stdout.fnmatch_lines(["2 passed in *", "2 passed in *", "ENDED [[]0, 0[]]"])


def test_the_functions_that_seed_are_pickled_by_their_names(pytester):
    """As spawned workers get them: `DataLoader(worker_init_fn=np.random.seed)`, `Pool(initializer=random.seed)`."""
    pytester.makepyfile("""
        import inspect
        import pickle
        import random
        from unittest import mock
        import numpy as np
        import pytest
        import torch

        @pytest.mark.parametrize("seed", [random.seed, np.random.seed, torch.seed, torch.random.seed])
        def test_pickled(seed):
            assert pickle.loads(pickle.dumps(seed)).__name__ == "seed"
            assert seed.__doc__

        def test_spawned():
            class Numbers(torch.utils.data.Dataset):
                def __len__(self): return 2
                def __getitem__(self, at): return at
            globals().update(Numbers=Numbers)
            Numbers.__qualname__ = "Numbers"
            loader = torch.utils.data.DataLoader(
                Numbers(), num_workers=1, worker_init_fn=np.random.seed, multiprocessing_context="spawn"
            )
            pickle.dumps(loader.worker_init_fn)

        def test_signatures():
            assert list(inspect.signature(random.seed).parameters) == ["a", "version"]
            assert not inspect.signature(torch.seed).parameters
            with mock.patch("random.seed", autospec=True) as seed:
                random.seed(1)
                with pytest.raises(TypeError):
                    random.seed(1, 2, 3)
            seed.assert_called_once_with(1)
        """)
    pytester.runpytest("-q", "--tensorcheck").assert_outcomes(passed=6)


@pytest.mark.parametrize("check", ALONE_AND_ALL)
def test_operators_that_take_functions_run_as_without_the_check(pytester, under, check):
    pytester.makepyfile("""
        import torch

        def cond(x): return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

        def loop(x):
            from torch._higher_order_ops.while_loop import while_loop
            return while_loop(lambda at, y: at < 3, lambda at, y: (at + 1, y + 1), (torch.zeros((), dtype=int), x))[1]

        def test_compiled():
            for f, expected in ((cond, torch.ones(2).sin()), (loop, torch.full((2,), 4.0))):
                torch._dynamo.reset()
                assert torch.equal(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2)), expected)

        def test_called():
            assert torch.equal(cond(torch.ones(2)), torch.ones(2).sin())
            assert torch.equal(cond(-torch.ones(2)), torch.ones(2).cos())

        def test_checks_of_an_operator_of_ones_own():
            @torch.library.custom_op("unseen::double", mutates_args=())
            def double(x: torch.Tensor) -> torch.Tensor:
                return x * 2
            @double.register_fake
            def _(x):
                return torch.empty_like(x)
            torch.library.opcheck(double, (torch.ones(2, 3),))
        """)
    under(check).assert_outcomes(passed=3)


def test_what_such_an_operator_makes_of_data_on_the_simulated_gpu_is_there(pytester):
    pytester.makepyfile("""
        import pytest
        import torch

        def test_it(tensor_device, no_sync):
            x = torch.ones(2, device=tensor_device)
            made = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
            assert made.device.type == "cuda"
            with pytest.raises(AssertionError, match="item"), no_sync():
                made.sum().item()
        """)
    pytester.runpytest_subprocess("-q", "-W", "ignore").assert_outcomes(passed=1)

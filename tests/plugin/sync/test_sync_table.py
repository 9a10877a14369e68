"""Each row of the table: code that waits, its look-alike that does not, and that the row is the one reported."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.sync import device, no_sync, simulation  # noqa: E402
from pytest_tensorcheck.sync.remedies import INSTEAD, WHY  # noqa: E402
from pytest_tensorcheck.sync.table import BY_ID, ROWS, check_names  # noqa: E402

# row id -> statements that wait, each alone. Names: x (5 floats), m (mask), i (long index), s (0-dim), n (0-dim long), h (host).
WAITS: dict[str, list[str]] = {
    "scalar": ["s.item()", "bool(s)", "int(n)", "float(s)", "[1, 2, 3][n]", "x[:n]", "range(n)", "f'{s:.1f}'", "2 in i", "max(s, s)",
               "torch.full((2,), s)", "torch.zeros(n)", "torch.arange(n)", "torch.add(x, x, alpha=s)", "x.narrow(0, n, 1)", "not s",
               "torch.is_nonzero(s)", "complex(s)", "sorted([s, s])", "s and s", "x[n]", "torch.testing.assert_close(x, x * 1.0)"],
    "tolist": ["x.tolist()"],
    "print": ["repr(x)", "str(x)", "f'{x}'"],
    "to_host": ["x.cpu()", "x.to('cpu')", "x.to(device='cpu')", "x.to(h)", "torch.as_tensor(x, device='cpu')"],
    "to_device": ["h.to(D)", "h.cuda()", "h.to(x)", "h.to(x.device)", "torch.nn.Linear(2, 2).to(D)", "torch.nn.Linear(2, 2).cuda()",
                  "h.pin_memory().to(D)", "torch.as_tensor(h, device=D)"],
    "copy_": ["x.copy_(h)", "h.copy_(x)", "x[:2] = h[:2]", "x[0] = 1.0", "torch._foreach_copy_([x], [h])"],
    "from_data": ["torch.tensor([1.0], device=D)", "torch.tensor(2.0, device=D)", "torch.as_tensor([1.0], device=D)", "x.new_tensor([1.0])",
                  "torch.nn.BatchNorm1d(2, device=D)"],
    "load": ["torch.load(io.BytesIO(saved), map_location=D)"],
    "save": ["torch.save(x, io.BytesIO())", "torch.save({'a': [x]}, io.BytesIO())", "pickle.dumps(x)"],
    "nonzero": ["x.nonzero()", "torch.where(m)", "torch.argwhere(x)", "x.nonzero(as_tuple=True)"],
    "masked_select": ["torch.masked_select(x, m)"],
    "mask_get": ["x[m]", "x[m.to(torch.uint8)]", "x.view(1, 5)[:, m]"],
    "mask_put": ["x[m] = s", "x[m] = x[:1]", "x.index_put_((m,), s)", "x.index_put_((m,), torch.tensor(1.0), accumulate=True)"],
    "host_index": ["x[[0, 1]]", "x[torch.tensor([0, 1])]", "x[torch.tensor([0, 1])] = s", "x[numpy.array([0, 1])]"],
    "host_value": ["x[i] = 1.0", "x[i] = torch.tensor(1.0)"],
    "unique": ["torch.unique(i)", "i.unique(return_counts=True)", "torch.unique_consecutive(i)", "torch.unique(x.view(5, 1), dim=0)"],
    "repeat_interleave": ["x.repeat_interleave(torch.full((5,), 2, device=D))"],
    "bincount": ["torch.bincount(i)", "torch.bincount(i, minlength=9)"],
    "one_hot": ["torch.nn.functional.one_hot(i)"],
    "equal": ["torch.equal(x, x.clone())"],
    "allclose": ["torch.allclose(x, x * 1.0)"],
    "histc": ["torch.histc(x)", "torch.histc(x, bins=4)"],
    "isin": ["torch.isin(i, torch.arange(99, device=D))"],
    "mode": ["torch.zeros(3000, device=D).mode()"],
    "scalar_value": ["x.masked_fill(m, s)", "x.masked_fill_(m, s)", "x.index_fill(0, i, s)"],
    "where_host": ["torch.where(m, x, torch.tensor(0.0))"],
    "linspace": ["torch.linspace(s, s, 4, device=D)"],
    "normal": ["torch.normal(x, x.abs())", "torch.normal(0.0, x.abs())",
               "torch.distributions.Normal(x, x.abs(), validate_args=False).sample()"],
    "linalg_check": ["torch.linalg.cholesky(E)", "torch.linalg.inv(E)", "torch.linalg.solve(E, E)", "torch.linalg.lu_factor(E)"],
    "linalg_host": ["torch.linalg.svd(E)", "torch.linalg.svdvals(E)", "torch.linalg.eigh(E)", "torch.linalg.pinv(E)", "torch.cholesky(E)",
                    "torch.linalg.matrix_norm(E, 2)", "torch.linalg.matrix_rank(E)", "torch.linalg.cond(E)"],
    "linalg_on_host": ["torch.linalg.eigvals(E)", "torch.linalg.eig(E)", "torch.linalg.lstsq(E, E)", "torch.linalg.matrix_exp(E)"],
    "ctc": ["torch.nn.functional.ctc_loss(L, T, torch.full((2,), 9, device=D), torch.full((2,), 3, device=D))",
            "torch.nn.functional.ctc_loss(L, T, (9, 9), (3, 3))",
            "torch.nn.functional.ctc_loss(L, T, torch.full((2,), 9), target_lengths=torch.full((2,), 3), reduction='sum')"],
    "lu_not_square": ["torch.linalg.lu(E[:1])", "torch.linalg.lu_factor_ex(E[:, :1])"],
    "ldl": ["torch.linalg.ldl_factor_ex(E)", "torch.linalg.ldl_factor(E)", "torch.linalg.ldl_solve(E, torch.ones(len(E), dtype=torch.int32, device=D), E)"],
    "segment_reduce": ["torch.segment_reduce(x[:4], 'max', lengths=torch.full((2,), 2, device=D))"],
    "mask_backward": ["x.masked_fill(m, torch.tensor(1.0, requires_grad=True)).sum().backward()",
                      "r.masked_scatter(m[:4], r.clone()).sum().backward()"],
    "sparse": ["E.to_sparse()", "E.to_sparse_csr()"],
    "prod_backward": ["r.prod().backward()", "r.cumprod(0).sum().backward()"],
    "nested_mask": ["torch._nested_tensor_from_mask(E[None], torch.ones(1, 3, dtype=torch.bool, device=D))"],
    "synchronize": ["torch.cuda.synchronize()", "torch.cuda.Stream().synchronize()", "torch.cuda.current_stream().synchronize()"],
    "event_synchronize": ["torch.cuda.Event().synchronize()"],
}  # fmt: skip

# What looks like it and does not wait.
SILENT: dict[str, list[str]] = {
    "scalar": ["h.sum().item()", "int(h[0])", "torch.tensor(3.0).item()", "x.sum() + s"],
    "tolist": ["h.tolist()", "list(x.shape)"],
    "print": ["repr(h)", "repr(x.shape)", "str(x.dtype)", "repr(torch.nn.Linear(2, 2, device=D))"],
    "to_host": ["x.to('cpu', non_blocking=True)", "h.cpu()", "h.to('cpu')"],
    "to_device": ["x.to(D)", "x.cuda()", "x.to(x)", "h.pin_memory().to(D, non_blocking=True)", "x.to(torch.float64)", "x.half()"],
    "copy_": ["x.copy_(x * 2)", "h.copy_(h * 2)", "x.copy_(h.pin_memory(), non_blocking=True)", "x[1:] = 0", "x[:] = s", "x.fill_(1)"],
    "from_data": ["torch.tensor([1.0])", "torch.full((), 2.0, device=D)", "torch.as_tensor(x)", "x.new_zeros(3)", "torch.tensor(x)", "torch.tensor([], device=D)", "x.new_tensor([])", "torch.zeros(0).to(D)"],
    "load": ["torch.load(io.BytesIO(saved))", "torch.load(io.BytesIO(saved), map_location='cpu')"],
    "save": ["torch.save(h, io.BytesIO())", "pickle.dumps(h)"],
    "nonzero": ["h.nonzero()", "torch.where(m, x, x)"],
    "masked_select": ["torch.masked_select(h, h > 0)"],
    "mask_get": ["h[h > 0]", "x[h > 0]"],
    "mask_put": ["x[m] = 0.0", "x[m] = torch.tensor(0.0)", "x[h > 0] = s", "x.masked_fill_(m, 0.0)"],
    "host_index": ["x[i]", "x[0]", "x[1:3]", "x[..., None]", "x[(0,)]", "h[[0, 1]]"],
    "host_value": ["x[i] = s", "x.index_fill(0, i, 1.0)"],
    "unique": ["torch.unique(torch.tensor([1, 2]))"],
    "repeat_interleave": ["x.repeat_interleave(2)", "x.repeat_interleave(torch.full((5,), 2, device=D), output_size=10)"],
    "bincount": ["torch.bincount(torch.tensor([1, 2]))"],
    "one_hot": ["torch.nn.functional.one_hot(i, 9)", "torch.nn.functional.one_hot(i, num_classes=9)",
                "torch.nn.functional.one_hot(torch.tensor([1]))"],
    "equal": ["torch.equal(x, x)", "torch.equal(x, x[:2])", "(x == x).all()", "torch.equal(h, h.clone())"],
    "allclose": ["torch.isclose(x, x)", "torch.allclose(h, h)"],
    "histc": ["torch.histc(x, min=0, max=1)"],
    "isin": ["torch.isin(i, i[:1])", "torch.isin(i, torch.arange(99, device=D), assume_unique=True)"],
    "mode": ["x.mode()"],
    "scalar_value": ["x.masked_fill(m, 0.0)", "x.index_fill(0, i, 0.0)", "x.masked_fill(m, torch.tensor(0.0))"],
    "where_host": ["torch.where(m, x, 0.0)", "torch.where(m, x, s)"],
    "linspace": ["torch.linspace(0, 1, 4, device=D)"],
    "normal": ["torch.normal(x, 1.0)", "torch.normal(0.0, 1.0, (3,), device=D)",
               "torch.distributions.Normal(x, x.abs(), validate_args=False).rsample()"],
    "linalg_check": ["torch.linalg.cholesky_ex(E)", "torch.linalg.inv_ex(E)", "torch.linalg.lu_factor_ex(E)"],
    "ctc": ["torch.nn.functional.ctc_loss(torch.zeros(9, 2, 5), torch.ones(2, 3, dtype=torch.long), (9, 9), (3, 3))"],
    "lu_not_square": ["torch.linalg.lu(E)", "torch.linalg.lu_factor_ex(E)"],
    "ldl": ["torch.linalg.ldl_factor_ex(E[:0, :0])"],
    "linalg_host": ["torch.linalg.svd(E[:0, :0])", "torch.linalg.eigh(E[:0, :0])", "torch.cholesky_inverse(E)"],
    "segment_reduce": ["torch.segment_reduce(x[:4], 'max', lengths=torch.full((2,), 2, device=D), unsafe=True)",
                       "torch.segment_reduce(x, 'max', offsets=torch.arange(0, 6, 5, device=D))"],
    "mask_backward": ["r.masked_fill(m[:len(r)], torch.tensor(1.0)).sum().backward()", "r.masked_scatter(m[:len(r)], x).sum().backward()"],
    "embedding_renorm": ["torch.nn.functional.embedding(i, E.clone(), max_norm=1.0)"],
    "prod_backward": ["r.prod()", "r.sum().backward()", "r.sin().cumsum(0).sum().backward()"],
    "event_synchronize": ["torch.cuda.Event().record()", "torch.cuda.Event().query()"],
    "attributes": ["len(x), x.shape, x.numel(), x.data_ptr(), x.is_floating_point(), x.device, x.is_cuda, x.stride(), hash(x)"],
    "factories": ["torch.zeros(3, device=D), torch.eye(3, device=D), torch.rand(3, device=D), torch.scalar_tensor(2.0, device=D)",
                  "torch.arange(3, device=D), torch.linspace(0, 1, 3, device=D), torch.randint(0, 3, (2,), device=D)"],
    "device_index": ["x[i], x.gather(0, i), x.index_select(0, i), x.masked_scatter(m, x)",
                     "x.scatter_add(0, i, x), x.index_add(0, i, x[i])", "(x * 2)[i].sum()"],
    "masked_fill": ["x[m] = 0.0"],
    "host_scalar": ["x + torch.tensor(2.0), x * 2.0, x.clamp(min=s), torch.maximum(x, s)"],
    "random": ["torch.multinomial(x.abs(), 2), torch.randperm(9, device=D), torch.bernoulli(x.abs().clamp(0, 1))",
               "torch.nn.functional.dropout(x)"],
    "sorting": ["x.sort(), x.topk(2), x.median(), x.kthvalue(1), x.cumsum(0), torch.searchsorted(x, x), x.any(), x.all()"],
    "quantile": ["torch.quantile(x, 0.5), torch.quantile(x, torch.rand(2, device=D)), torch.nanquantile(x, 0.5)"],
    "linalg_free": ["torch.linalg.det(E), torch.linalg.slogdet(E), torch.linalg.qr(E), torch.linalg.matrix_power(E, 2)"],
    "iteration": ["for row in E: row + 1", "a, b, c = E.unbind()"],
    "deepcopy": ["copy.deepcopy(x) + x", "copy.deepcopy(torch.nn.Linear(5, 2, device=D))(x)"],
    "nonzero_static": ["torch.nonzero_static(x, size=5)"],
    "optimizer_state": ["o.step(); o.step()"],
}  # fmt: skip

_NO_CODE_HERE = {
    "numpy": "an error on a GPU: tested in test_sync_simulation.py",
    "pageable": "not certain: tested below",
    "gpu": "only a real GPU reports it: tested in test_sync_gpu_watcher.py",
}


def names() -> dict[str, Any]:
    import copy

    import numpy

    d = str(device())
    saved = io.BytesIO()
    torch.save(torch.ones(2), saved)
    w = torch.nn.Linear(3, 1, device=d)
    o = torch.optim.Adam(w.parameters())
    w(torch.ones(1, 3, device=d)).sum().backward()
    return {
        "torch": torch, "io": io, "pickle": pickle, "copy": copy, "numpy": numpy, "D": d, "h": torch.rand(5), "saved": saved.getvalue(),
        "x": torch.rand(5, device=d), "m": torch.ones(5, dtype=torch.bool, device=d), "i": torch.arange(5, device=d) // 2,
        "s": torch.full((), 1.0, device=d), "n": torch.full((), 2, device=d), "E": torch.eye(3, device=d),
        "L": torch.zeros(9, 2, 5, device=d).log_softmax(2), "T": torch.ones(2, 3, dtype=torch.long, device=d),
        "r": torch.rand(4, device=d, requires_grad=True), "o": o,
    }  # fmt: skip


def rows_of(statement: str) -> list[str]:
    """The rows under which a statement is reported; those that only may wait end with "?"."""
    torch.manual_seed(0)
    with simulation():
        given = names()
        code = compile(statement, "statement.py", "exec")
        with no_sync(allow=10**6) as seen:
            exec(code, given)
    return [event.row if event.certain else f"{event.row}?" for event in seen]


def test_every_row_has_a_test() -> None:
    waiting = {row.id for row in ROWS if row.verdict != "never"}
    assert waiting == set(WAITS) | set(_NO_CODE_HERE)
    assert {row.id for row in ROWS if row.verdict == "never"} <= set(SILENT)
    assert set(SILENT) <= set(BY_ID)


def test_every_row_says_why_where_and_what_instead() -> None:
    for row in ROWS:
        assert row.source
        assert row.code
        if row.verdict != "never":
            assert row.why in WHY
            assert row.remedy in INSTEAD
        if row.verdict == "sometimes":
            assert row.when


@pytest.mark.parametrize("row", sorted(WAITS))
def test_row_waits(row: str) -> None:
    for statement in WAITS[row]:
        assert rows_of(statement)[:1] == [row], statement


@pytest.mark.parametrize("row", sorted(SILENT))
def test_look_alike_does_not_wait(row: str) -> None:
    for statement in SILENT[row]:
        assert rows_of(statement) == [], statement


def test_copy_from_memory_that_is_not_pinned_may_wait() -> None:
    assert rows_of("h.to(D, non_blocking=True)") == ["pageable?"]
    assert rows_of("x.copy_(h, non_blocking=True)") == ["pageable?"]


def test_every_dispatcher_name_of_the_table_exists() -> None:
    for row in ROWS:
        for name in row.ops:
            packet, _, overload = name.partition(".")
            assert hasattr(torch.ops.aten, packet), name
            if overload:
                assert overload in getattr(torch.ops.aten, packet).overloads(), name


def test_unknown_name_in_allow_is_one_clear_line() -> None:
    with pytest.raises(ValueError, match=r"no operation that waits is called 'nonzer'; did you mean 'nonzero'\?"):
        check_names(["nonzer"])
    check_names(["nonzero", "item", "__bool__", "to", "mask_get", "_local_scalar_dense"])

"""What makes the host wait for a CUDA device: the specification, as data.

Each row says what a user writes, which operation of torch's dispatcher shows it, under which condition it waits, why, and
what to write instead. `source` is where that is to be read: a file of torch's own sources under aten/src/ATen, or
"measured" for what was seen on torch 2.13, "H100" for what a GPU said under torch 2.11. A row that never waits is here too, because it looks as if it did; it has tests.

`ops` are names of the dispatcher (`aten::` left out, the overload after a dot where it matters). `condition` is the name of
a function in conditions.py; empty means always, when an operand is on the device.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["always", "sometimes", "never"]


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    code: str
    verdict: Verdict
    source: str
    ops: tuple[str, ...] = ()
    condition: str = ""
    when: str = ""
    names: tuple[str, ...] = ()
    why: str = "read"
    remedy: str = "keep"


_NONZERO = "native/cuda/Nonzero.cu"
_COPY = "native/cuda/Copy.cu"
_SCALAR = "native/cuda/CUDAScalar.cu"
_INDEX = "native/TensorAdvancedIndexing.cpp"
_LINALG = "native/cuda/linalg/BatchLinearAlgebra.cpp"

ROWS: tuple[Row, ...] = (
    # One number comes to the host.
    Row(
        "scalar",
        "t.item(), bool(t), if t:, int(t), float(t), x[:t], range(t)",
        "always",
        _SCALAR,
        ops=("_local_scalar_dense",),
        names=(
            "item",
            "bool",
            "int",
            "float",
            "index",
            "complex",
            "format",
            "is_nonzero",
            "contains",
            "getitem",
            "full",
            "zeros",
            "arange",
            "linspace",
            "narrow",
            "add",
        ),
        remedy="keep",
    ),
    Row(
        "tolist",
        "t.tolist()",
        "always",
        "torch/csrc/utils/tensor_list.cpp",
        names=("tolist",),
        why="copy_to_host",
        remedy="tolist",
    ),
    Row(
        "print",
        "print(t), repr(t), str(t)",
        "always",
        "torch/_tensor_str.py",
        names=("repr", "print", "str"),
        why="copy_to_host",
        remedy="print",
    ),
    Row(
        "numpy",
        "t.numpy(), np.asarray(t)",
        "always",
        "torch/csrc/utils/tensor_numpy.cpp",
        names=("numpy", "array"),
        when="TypeError on a GPU until .cpu() is added, and that waits",
        why="copy_to_host",
        remedy="numpy",
    ),
    # Copies between host and device.
    Row(
        "to_host",
        "t.cpu(), t.to('cpu')",
        "sometimes",
        _COPY,
        names=("cpu", "to"),
        when="unless non_blocking=True",
        why="copy_to_host",
        remedy="to_host",
    ),
    Row(
        "to_device",
        "t.to('cuda'), t.cuda(), module.to('cuda')",
        "sometimes",
        _COPY,
        names=("to", "cuda", "type_as"),
        when="unless non_blocking=True",
        why="copy_to_device",
        remedy="to_device",
    ),
    Row(
        "pageable",
        "t.to('cuda', non_blocking=True), t not pinned",
        "sometimes",
        _COPY,
        names=("to", "cuda", "copy_"),
        when="may wait: the driver stages memory that is not pinned",
        why="pageable",
        remedy="pin",
    ),
    Row(
        "copy_",
        "a.copy_(b), a[:] = b across devices",
        "sometimes",
        _COPY,
        ops=("copy_", "_foreach_copy_"),
        condition="copy_across",
        when="a and b on different devices, unless non_blocking=True",
        names=("copy_", "setitem", "foreach_copy_"),
        why="copy_across",
        remedy="to_device",
    ),
    Row(
        "from_data",
        "torch.tensor([…], device='cuda'), x.new_tensor([…])",
        "always",
        "torch/csrc/utils/tensor_new.cpp",
        names=("tensor", "as_tensor", "new_tensor", "asarray", "sparse_coo_tensor"),
        why="copy_to_device",
        remedy="from_data",
    ),
    Row(
        "load",
        "torch.load(f, map_location='cuda')",
        "always",
        "torch/serialization.py",
        names=("load",),
        why="copy_to_device",
        remedy="outside",
    ),
    Row(
        "save",
        "torch.save(t, f), pickle.dumps(t)",
        "always",
        "torch/serialization.py",
        names=("save", "pickle"),
        why="copy_to_host",
        remedy="save",
    ),
    # The size of the result depends on the values.
    Row(
        "nonzero",
        "x.nonzero(), torch.where(cond), torch.argwhere(x)",
        "always",
        _NONZERO,
        ops=("nonzero", "nonzero_numpy"),
        names=("nonzero", "where", "argwhere", "combinations"),
        why="size",
        remedy="nonzero",
    ),
    Row(
        "masked_select",
        "torch.masked_select(x, mask)",
        "always",
        "native/cuda/IndexKernel.cpp",
        ops=("masked_select",),
        names=("masked_select",),
        why="size",
        remedy="mask",
    ),
    Row(
        "mask_get",
        "x[mask]",
        "always",
        _INDEX,
        ops=("index.Tensor",),
        condition="index_get",
        when="the mask is on the device",
        names=("getitem", "index", "mask"),
        why="size",
        remedy="mask",
    ),
    Row(
        "mask_put",
        "x[mask] = tensor",
        "sometimes",
        _INDEX,
        ops=("index_put_", "index_put", "_index_put_impl_"),
        condition="index_put",
        when="never with a Python number or a 0-dim CPU tensor: that is masked_fill",
        names=("setitem", "index_put_", "mask"),
        why="size",
        remedy="mask_put",
    ),
    Row(
        "host_index",
        "x[[0, 1]], x[cpu_long]",
        "always",
        _INDEX,
        names=("getitem", "setitem", "index"),
        when="the index is on the host: it is copied to the device",
        why="copy_to_device",
        remedy="host_index",
    ),
    Row(
        "host_value",
        "x[idx] = 1.0, x[idx] = cpu_0dim",
        "always",
        _INDEX,
        names=("setitem", "index_put_"),
        when="the value is on the host and the index is not one mask on the device",
        why="copy_to_device",
        remedy="host_value",
    ),
    Row(
        "unique",
        "torch.unique(x)",
        "always",
        "native/cuda/UniqueCub.cu",
        ops=("_unique", "_unique2", "unique_consecutive", "unique_dim", "unique_dim_consecutive"),
        names=("unique", "unique_consecutive"),
        why="size",
        remedy="outside",
    ),
    Row(
        "repeat_interleave",
        "x.repeat_interleave(counts)",
        "sometimes",
        "native/cuda/Repeat.cu",
        ops=("repeat_interleave.Tensor",),
        condition="no_output_size",
        when="unless output_size= is given",
        names=("repeat_interleave",),
        why="size",
        remedy="repeat_interleave",
    ),
    Row(
        "bincount",
        "torch.bincount(x)",
        "always",
        "native/cuda/SummaryOps.cu",
        ops=("bincount",),
        names=("bincount",),
        why="size",
        remedy="bincount",
    ),
    Row(
        "one_hot",
        "F.one_hot(i)",
        "sometimes",
        "native/Onehot.cpp",
        names=("one_hot",),
        when="only if num_classes is left out",
        why="size",
        remedy="one_hot",
    ),
    # A yes or no that the host must know.
    Row(
        "equal",
        "torch.equal(a, b)",
        "sometimes",
        "native/cuda/Equal.cpp",
        ops=("equal",),
        condition="equal_reads",
        when="unless the shapes differ or both are the same memory",
        names=("equal",),
        why="answer",
        remedy="equal",
    ),
    Row(
        "allclose",
        "torch.allclose(a, b), torch.testing.assert_close",
        "always",
        "native/TensorCompare.cpp",
        ops=("allclose",),
        names=("allclose", "assert_close"),
        why="answer",
        remedy="equal",
    ),
    Row(
        "histc",
        "torch.histc(x)",
        "sometimes",
        "native/cuda/SummaryOps.cu",
        ops=("histc",),
        condition="histc_range",
        when="only if min and max are left out (or equal)",
        names=("histc",),
        why="answer",
        remedy="histc",
    ),
    Row(
        "isin",
        "torch.isin(a, b)",
        "sometimes",
        "native/TensorCompare.cpp",
        ops=("isin.Tensor_Tensor",),
        condition="isin_sorts",
        when="only if b is so large that it is sorted first, and not assume_unique=True",
        names=("isin",),
        why="size",
        remedy="isin",
    ),
    Row(
        "mode",
        "x.mode()",
        "sometimes",
        "native/cuda/TensorModeKernel.cpp",
        ops=("mode",),
        condition="mode_slice",
        when="only over more than 2048 elements",
        names=("mode",),
        why="answer",
        remedy="outside",
    ),
    # A device tensor where torch's kernel needs a number, or a host tensor where it needs a device tensor.
    Row(
        "scalar_value",
        "x.masked_fill(mask, device_0dim), x.index_fill(0, i, device_0dim)",
        "sometimes",
        "native/cuda/Indexing.cu",
        ops=("masked_fill.Tensor", "masked_fill_.Tensor", "index_fill.int_Tensor", "index_fill_.int_Tensor"),
        condition="value_on_device",
        when="the value is a tensor on the device; a Python number never waits",
        names=("masked_fill", "index_fill"),
        why="read",
        remedy="scalar_value",
    ),
    Row(
        "where_host",
        "torch.where(c, x, torch.tensor(0.0))",
        "sometimes",
        "native/TensorCompare.cpp",
        ops=("where.self",),
        condition="where_host_scalar",
        when="an operand is a 0-dim tensor on the host; a Python number never waits",
        names=("where",),
        why="copy_to_device",
        remedy="where_host",
    ),
    Row(
        "linspace",
        "torch.linspace(t, t, 5)",
        "always",
        "native/RangeFactories.cpp",
        ops=(
            "linspace.Tensor_Tensor",
            "linspace.Tensor_Scalar",
            "linspace.Scalar_Tensor",
            "logspace.Tensor_Tensor",
            "logspace.Tensor_Scalar",
            "logspace.Scalar_Tensor",
        ),
        names=("linspace", "logspace"),
        remedy="keep",
    ),
    Row(
        "normal",
        "torch.normal(mean, std_tensor), Normal(m, s).sample()",
        "sometimes",
        "native/DistributionTemplates.h",
        ops=("normal.Tensor_Tensor", "normal.float_Tensor"),
        condition="std_on_device",
        when="std is a tensor on the device (it is checked for negative values); rsample never waits",
        names=("normal", "sample"),
        why="check",
        remedy="normal",
    ),
    # Kernels that check their own result on the host.
    Row(
        "linalg_check",
        "linalg.cholesky, inv, solve, lu_factor, ldl_factor",
        "always",
        "native/BatchLinearAlgebra.cpp",
        ops=("_linalg_check_errors",),
        names=("cholesky", "inv", "solve", "lu_factor", "ldl_factor", "inverse"),
        why="check",
        remedy="linalg_ex",
    ),
    Row(
        "linalg_host",
        "linalg.svd, eigh, pinv, torch.cholesky",
        "always",
        _LINALG,
        ops=("_linalg_svd", "_linalg_eigh", "linalg_pinv.atol_rtol_tensor", "cholesky"),
        condition="decomposes",
        names=("svd", "svdvals", "eigh", "eigvalsh", "pinv", "matrix_rank", "cond", "matrix_norm", "cholesky"),
        why="check",
        remedy="outside",
    ),
    Row(
        "linalg_on_host",
        "linalg.eig, lstsq, matrix_exp",
        "always",
        _LINALG,
        ops=("linalg_eig", "linalg_eigvals", "_linalg_eigvals", "linalg_lstsq", "linalg_matrix_exp"),
        names=("eig", "eigvals", "lstsq", "matrix_exp"),
        why="check",
        remedy="outside",
    ),
    Row(
        "lu_not_square",
        "linalg.lu, lu_factor_ex",
        "sometimes",
        "H100",
        ops=("linalg_lu", "linalg_lu_factor_ex"),
        condition="not_square",
        when="the matrix is not square",
        names=("lu", "lu_factor_ex"),
        why="answer",
        remedy="outside",
    ),
    Row(
        "ldl",
        "linalg.ldl_factor_ex, ldl_solve",
        "always",
        "H100",
        ops=("linalg_ldl_factor_ex", "linalg_ldl_solve"),
        condition="has_elements",
        names=("ldl_factor_ex", "ldl_solve"),
        why="answer",
        remedy="outside",
    ),
    Row(
        "segment_reduce",
        "torch.segment_reduce(x, reduce, lengths=n)",
        "sometimes",
        "native/SegmentReduce.cpp",
        ops=("segment_reduce",),
        condition="lengths_are_checked",
        when="lengths are given, without unsafe=True",
        names=("segment_reduce",),
        why="check",
        remedy="segment_reduce",
    ),
    Row(
        "ctc",
        "F.ctc_loss",
        "always",
        "native/cuda/LossCTC.cu",
        ops=("_ctc_loss",),
        names=("ctc_loss",),
        why="copy_to_device",
        remedy="ctc",
    ),
    Row(
        "sparse",
        "x.to_sparse(), s.coalesce()",
        "always",
        "native/sparse/cuda/SparseCUDATensor.cu",
        ops=(
            "_to_sparse",
            "_to_sparse.sparse_dim",
            "_to_sparse_csr",
            "_to_sparse_csc",
            "_to_sparse_bsr",
            "_to_sparse_bsc",
            "_coalesce",
        ),
        names=("to_sparse", "coalesce"),
        why="size",
        remedy="outside",
    ),
    Row(
        "nested_mask",
        "TransformerEncoder(x, src_key_padding_mask=…) in eval",
        "always",
        "native/nested/NestedTensorMath.cpp",
        ops=("_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_mask"),
        names=("nested_tensor_from_mask",),
        when="its fast path packs the unpadded rows",
        why="size",
        remedy="nested",
    ),
    Row(
        "prod_backward",
        "x.prod().backward(), x.cumprod(0).backward()",
        "always",
        "torch/csrc/autograd/FunctionsManual.cpp",
        names=("prod", "cumprod"),
        why="prod",
        remedy="prod",
    ),
    Row(
        "mask_backward",
        "x.masked_fill(mask, tensor).backward(), x.masked_scatter(mask, tensor).backward()",
        "sometimes",
        "torch/csrc/autograd/FunctionsManual.cpp",
        when="the tensor that is filled in needs a gradient",
        names=("masked_fill", "masked_scatter"),
        why="size",
        remedy="mask_backward",
    ),
    # The whole device.
    Row(
        "synchronize",
        "torch.cuda.synchronize(), stream.synchronize()",
        "always",
        "torch/csrc/cuda/Module.cpp",
        names=("synchronize",),
        when="CUDA's own sync debug mode does not see it",
        why="device",
        remedy="synchronize",
    ),
    Row(
        "event_synchronize",
        "event.synchronize()",
        "always",
        "torch/csrc/cuda/Event.cpp",
        names=("event_synchronize", "synchronize"),
        when="CUDA's own sync debug mode does not see it",
        why="event",
        remedy="synchronize",
    ),
    Row(
        "gpu",
        "seen by the GPU's own trace",
        "always",
        "c10/cuda/CUDAFunctions.h",
        names=(),
        why="device",
        remedy="generic",
    ),
    # What looks like a wait and is none.
    Row("attributes", "x.shape, len(x), x.numel(), x.data_ptr(), x.is_floating_point()", "never", "measured"),
    Row(
        "factories",
        "torch.zeros/ones/full/arange/eye/rand/scalar_tensor(…, device='cuda')",
        "never",
        "native/TensorFactories.cpp",
    ),
    Row(
        "device_index",
        "x[idx], gather, scatter, index_add, index_select, masked_scatter",
        "never",
        _INDEX,
        when="idx on the device",
    ),
    Row("masked_fill", "x[mask] = 0.0, x.masked_fill(mask, 0.0)", "never", _INDEX),
    Row("host_scalar", "x + cpu_0dim, x * 2.0, x.clamp(min=device_0dim)", "never", "native/TensorIterator.cpp"),
    Row("random", "multinomial, randperm, bernoulli, dropout", "never", "native/cuda/Distributions.cu"),
    Row("sorting", "sort, topk, median, kthvalue, cumsum, searchsorted, any, all", "never", "native/cuda/Sort.cpp"),
    Row(
        "quantile",
        "torch.quantile(x, q)",
        "never",
        "native/Sorting.cpp",
        when="the range check is done for CPU tensors only",
    ),
    Row(
        "linalg_free",
        "cholesky_ex, inv_ex, det, slogdet, qr, lu_solve, matrix_power, cholesky_inverse",
        "never",
        _LINALG,
    ),
    Row("embedding_renorm", "nn.Embedding(max_norm=…)", "never", "native/cuda/Embedding.cu"),
    Row("iteration", "for row in x, x.unbind()", "never", "torch/_tensor.py"),
    Row("deepcopy", "copy.deepcopy(t)", "never", "torch/_tensor.py", when="the copy stays on the device"),
    Row("nonzero_static", "torch.nonzero_static(x, size=n)", "never", _NONZERO),
    Row(
        "optimizer_state", "Adam's step counter", "never", "torch/optim/adam.py", when="it lives on the host by design"
    ),
)

BY_ID: dict[str, Row] = {row.id: row for row in ROWS}

# Dispatcher name -> row. An overload ("index.Tensor") is looked up before its bare name.
BY_OP: dict[str, Row] = {op: row for row in ROWS for op in row.ops}

# Functions whose CPU branch reads values that CUDA's does not: what they do inside is not counted. The value says when
# the function as a whole waits on CUDA: a condition over its arguments, or "" for never.
COMPOSITES: dict[str, tuple[str, str]] = {
    "one_hot": ("one_hot", "no_num_classes"),
    "quantile": ("quantile", ""),
    "nanquantile": ("quantile", ""),
}

# Autograd nodes that wait although no operation shows it: with a dispatch mode open, torch takes another formula. The
# second is the name of a function of the node in conditions.py; empty means always.
BACKWARD_NODES: dict[str, tuple[str, str]] = {
    "ProdBackward0": ("prod_backward", "looks_for_zeros"),
    "ProdBackward1": ("prod_backward", "looks_for_zeros"),
    "CumprodBackward0": ("prod_backward", "looks_for_zeros_in_several"),
    "MaskedFillBackward1": ("mask_backward", "second_needs_gradient"),
    "MaskedScatterBackward0": ("mask_backward", "second_needs_gradient"),
    "CtcLossBackward0": ("ctc", ""),
    "CtcLossBackward1": ("ctc", ""),
}

NAMES: frozenset[str] = frozenset(
    name
    for row in ROWS
    if row.verdict != "never"
    for name in (row.id, *row.names, *(op.partition(".")[0] for op in row.ops))
)


def check_names(names: Collection[str]) -> None:
    """ValueError for a name in `allow=[…]` that no operation has, with the nearest one that exists."""
    __tracebackhide__ = True
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"no_sync: allow=[…] holds names of operations, not {name!r}")
        if name not in NAMES and name.strip("_") not in NAMES:
            near = difflib.get_close_matches(name, sorted(NAMES), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(NAMES))}"
            raise ValueError(f"no_sync: no operation that waits is called {name!r}{hint}")

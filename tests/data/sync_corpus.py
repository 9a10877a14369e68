"""Functions with known waits: a line that makes the host wait for a CUDA device ends with `# SYNC`, no other line does.

Each function takes the device. In backward the line is the forward line that made the node. Written before the simulator
was tuned; the functions for which `put_aside(name)` holds were run once, at the end (tests/data/sync_results.json).
"""
import copy
import hashlib
import io
import math
import pickle

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def put_aside(name):
    """Whether a function belongs to the third that is not looked at while the simulator is tuned."""
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


# --- one number comes to the host ---------------------------------------------------------------------------------
def read_item(dev):
    x = torch.randn(4, device=dev)
    s = x.sum()
    return s.item()  # SYNC


def read_bool_if(dev):
    x = torch.randn(4, device=dev)
    if x.sum() > 0:  # SYNC
        return 1
    return 0


def read_bool_call(dev):
    x = torch.ones((), device=dev)
    return bool(x)  # SYNC


def read_while(dev):
    x = torch.zeros((), device=dev)
    while x < 2:  # SYNC
        x = x + 1
    return x


def read_assert(dev):
    x = torch.ones(3, device=dev)
    assert (x > 0).all()  # SYNC
    return x


def read_not(dev):
    x = torch.zeros((), device=dev)
    return not x  # SYNC


def read_and(dev):
    a = torch.ones((), device=dev)
    b = torch.ones((), device=dev)
    return a and b  # SYNC


def read_or(dev):
    a = torch.ones((), device=dev)
    return a or 3  # SYNC


def read_max_builtin(dev):
    a = torch.ones((), device=dev)
    b = torch.zeros((), device=dev)
    return max(a, b)  # SYNC


def read_sorted(dev):
    ts = [torch.tensor(float(i)) for i in (3, 1, 2)]
    xs = [torch.full((), float(i), device=dev) for i in (3, 1, 2)]
    sorted(ts)
    return sorted(xs)  # SYNC


def read_int(dev):
    n = torch.full((), 3, device=dev)
    return int(n)  # SYNC


def read_float(dev):
    n = torch.full((), 3.0, device=dev)
    return float(n)  # SYNC


def read_complex(dev):
    n = torch.full((), 3.0, device=dev)
    return complex(n)  # SYNC


def read_list_index(dev):
    i = torch.full((), 1, device=dev)
    return [10, 20, 30][i]  # SYNC


def read_range(dev):
    n = torch.full((), 3, device=dev)
    total = 0
    for i in range(n):  # SYNC
        total += i
    return total


def read_slice(dev):
    x = torch.randn(5, device=dev)
    n = torch.full((), 3, device=dev)
    return x[:n]  # SYNC


def read_sqrt(dev):
    v = torch.full((), 4.0, device=dev)
    return math.sqrt(v)  # SYNC


def read_fstring(dev):
    loss = torch.full((), 4.0, device=dev)
    return f"loss {loss:.3f}"  # SYNC


def read_format_percent(dev):
    loss = torch.full((), 4.0, device=dev)
    return "loss %.3f" % loss  # SYNC


def read_print(dev):
    x = torch.randn(3, device=dev)
    print(x)  # SYNC


def read_repr(dev):
    x = torch.randn(3, device=dev)
    return repr(x)  # SYNC


def read_str_of_parameter(dev):
    p = nn.Parameter(torch.randn(3, device=dev))
    return str(p)  # SYNC


def read_tolist(dev):
    x = torch.arange(3, device=dev)
    return x.tolist()  # SYNC


def read_cpu(dev):
    x = torch.randn(3, device=dev)
    y = x.cpu()  # SYNC
    return y.sum().item()


def read_to_cpu(dev):
    x = torch.randn(3, device=dev)
    y = x.to("cpu")  # SYNC
    return float(y[0])


def read_cpu_numpy(dev):
    x = torch.randn(3, device=dev)
    return x.cpu().numpy()  # SYNC


def read_detach_cpu_numpy(dev):
    x = torch.randn(3, device=dev, requires_grad=True)
    y = (x * 2).detach().cpu().numpy()  # SYNC
    return y.mean()


def read_to_cpu_nonblocking(dev):
    x = torch.randn(3, device=dev)
    return x.to("cpu", non_blocking=True)


def read_contains(dev):
    x = torch.arange(3, device=dev)
    return 2 in x  # SYNC


def read_is_nonzero(dev):
    x = torch.ones(1, device=dev)
    return torch.is_nonzero(x)  # SYNC


def read_chained_compare(dev):
    x = torch.ones((), device=dev)
    return 0 < x < 2  # SYNC


def read_any_builtin(dev):
    x = torch.ones(3, device=dev)
    return any(x)  # SYNC


def read_sum_builtin(dev):
    x = torch.ones(3, device=dev)
    return sum(x)


def read_comprehension(dev):
    losses = [torch.full((), float(i), device=dev) for i in range(3)]
    return [v.item() for v in losses]  # SYNC


def read_in_helper(dev):
    def metric(t):
        return t.mean().item()  # SYNC

    x = torch.randn(4, device=dev)
    return metric(x)


def read_in_lambda(dev):
    get = lambda t: t.item()  # SYNC
    return get(torch.ones((), device=dev))


def no_read_attributes(dev):
    x = torch.randn(2, 3, device=dev)
    len(x), x.shape, x.numel(), x.dim(), x.stride(), x.dtype, x.is_floating_point(), x.is_contiguous()
    x.data_ptr()
    x.size(0), x.element_size(), x.requires_grad
    return hash(x)


def no_read_is_none(dev):
    x = torch.randn(2, device=dev)
    return x is None or x is not x


def no_iterate_rows(dev):
    x = torch.randn(3, 2, device=dev)
    total = torch.zeros(2, device=dev)
    for row in x:
        total = total + row
    a, b, c = x.unbind(0)
    return total + a + b + c


def no_unpack(dev):
    a, b = torch.randn(2, device=dev)
    return a + b


# --- transfers ----------------------------------------------------------------------------------------------------
def move_to_device(dev):
    x = torch.randn(4)
    y = x.to(dev)  # SYNC
    return y * 2


def move_cuda(dev):
    x = torch.randn(4)
    return x.cuda()  # SYNC


def move_device_object(dev):
    device = torch.device(dev)
    return torch.randn(4).to(device)  # SYNC


def move_with_dtype(dev):
    x = torch.randn(4)
    return x.to(dev, torch.float64)  # SYNC


def move_pinned_blocking(dev):
    x = torch.randn(4).pin_memory()
    return x.to(dev)  # SYNC


def move_pinned_nonblocking(dev):
    x = torch.randn(4).pin_memory()
    return x.to(dev, non_blocking=True)


def move_already_there(dev):
    x = torch.randn(4, device=dev)
    return x.to(dev), x.cuda(), x.to(x.device), x.to(x)


def move_like_other(dev):
    w = torch.randn(3, device=dev)
    x = torch.randn(3)
    return x.to(w)  # SYNC


def move_x_device(dev):
    w = torch.randn(3, device=dev)
    return torch.randn(3).to(w.device)  # SYNC


def move_type_only(dev):
    x = torch.randn(4, device=dev)
    return x.to(torch.float16), x.half(), x.double(), x.long(), x.type_as(x)


def move_module(dev):
    m = nn.Linear(3, 2)
    m.to(dev)  # SYNC
    return m(torch.randn(1, 3, device=dev))


def move_module_cuda(dev):
    m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    m = m.cuda()  # SYNC
    return m(torch.randn(4, 3, device=dev))


def move_module_back(dev):
    m = nn.Linear(3, 2, device=dev)
    m.cpu()  # SYNC
    return m(torch.randn(1, 3))


def move_copy_h2d(dev):
    a = torch.empty(4, device=dev)
    a.copy_(torch.randn(4))  # SYNC
    return a


def move_copy_d2h(dev):
    a = torch.empty(4)
    a.copy_(torch.randn(4, device=dev))  # SYNC
    return a.sum().item()


def move_copy_d2d(dev):
    a = torch.empty(4, device=dev)
    a.copy_(torch.randn(4, device=dev))
    return a


def move_copy_nonblocking(dev):
    a = torch.empty(4, device=dev)
    b = torch.randn(4).pin_memory()
    a.copy_(b, non_blocking=True)
    return a


def move_slice_assign_host(dev):
    a = torch.zeros(4, device=dev)
    a[:2] = torch.randn(2)  # SYNC
    return a


def move_slice_assign_device(dev):
    a = torch.zeros(4, device=dev)
    a[:2] = torch.randn(2, device=dev)
    a[1:] = 0
    return a


def move_element_assign_number(dev):
    a = torch.zeros(4, device=dev)
    b = torch.zeros(4, 2, device=dev)
    b[0] = 3.0
    a[0] = 3.0  # SYNC
    return a, b


def move_d2h_gradient(dev):
    x = torch.randn(3, device=dev, requires_grad=True)
    y = x.cpu()  # SYNC
    y.sum().backward()
    return x.grad


def move_dict_batch(dev):
    batch = {"ids": torch.arange(4), "mask": torch.ones(4)}
    batch = {k: v.to(dev) for k, v in batch.items()}  # SYNC
    return batch["ids"] + batch["mask"]


# --- data from Python ---------------------------------------------------------------------------------------------
def make_tensor_list(dev):
    return torch.tensor([1.0, 2.0], device=dev)  # SYNC


def make_tensor_scalar(dev):
    return torch.tensor(1.0, device=dev)  # SYNC


def make_as_tensor_numpy(dev):
    a = np.ones(3, dtype=np.float32)
    return torch.as_tensor(a, device=dev)  # SYNC


def make_from_numpy_to(dev):
    t = torch.from_numpy(np.ones(3))
    return t.to(dev)  # SYNC


def make_new_tensor(dev):
    x = torch.randn(3, device=dev)
    return x.new_tensor([1.0, 2.0])  # SYNC


def make_tensor_of_tensors(dev):
    a = torch.ones((), device=dev)
    b = torch.ones((), device=dev)
    return torch.tensor([a, b])  # SYNC


def make_stack_of_tensors(dev):
    a = torch.ones((), device=dev)
    b = torch.ones((), device=dev)
    return torch.stack([a, b])


def make_factories(dev):
    torch.zeros(3, device=dev), torch.ones(3, device=dev), torch.full((3,), 2.0, device=dev)
    torch.arange(5, device=dev), torch.empty(2, device=dev), torch.eye(3, device=dev), torch.rand(3, device=dev)
    torch.linspace(0, 1, 5, device=dev), torch.randint(0, 5, (3,), device=dev), torch.scalar_tensor(2.0, device=dev)
    x = torch.randn(3, device=dev)
    torch.zeros_like(x), torch.full_like(x, 2), x.new_zeros(3), x.new_full((2,), 1.0), torch.rand_like(x), x.new_empty(2)
    return torch.tril(torch.ones(3, 3, device=dev))


def make_device_context(dev):
    with torch.device(dev):
        x = torch.zeros(3)
        m = nn.Linear(3, 2)
    return m(x).sum().item()  # SYNC


def make_tensor_in_context(dev):
    with torch.device(dev):
        return torch.tensor([1.0, 2.0])  # SYNC


def make_full_of_tensor(dev):
    v = torch.ones((), device=dev)
    return torch.full((3,), v, device=dev)  # SYNC


def make_zeros_of_tensor(dev):
    n = torch.full((), 3, device=dev)
    return torch.zeros(n)  # SYNC


def make_arange_of_tensor(dev):
    n = torch.full((), 3, device=dev)
    return torch.arange(n, device=dev)  # SYNC


def make_linspace_of_tensor(dev):
    a = torch.zeros((), device=dev)
    b = torch.ones((), device=dev)
    return torch.linspace(a, b, 5, device=dev)  # SYNC


def make_host_tensors(dev):
    t = torch.tensor([3, 1, 2])
    n = t.tolist()
    return max(n), t.max().item(), int(t[0]), len(t), t.numpy().sum()


def make_cpu_explicit(dev):
    t = torch.zeros(3, device="cpu")
    u = torch.zeros_like(torch.ones(3, device=dev), device="cpu")
    return t.sum().item() + u.sum().item()


# --- sizes that depend on values ----------------------------------------------------------------------------------
def size_nonzero(dev):
    x = torch.randn(5, device=dev)
    return x.nonzero()  # SYNC


def size_nonzero_tuple(dev):
    x = torch.randn(5, 2, device=dev)
    return (x > 0).nonzero(as_tuple=True)  # SYNC


def size_where_one(dev):
    x = torch.randn(5, device=dev)
    return torch.where(x > 0)  # SYNC


def size_argwhere(dev):
    x = torch.randn(5, device=dev)
    return torch.argwhere(x > 0)  # SYNC


def size_nonzero_static(dev):
    x = torch.ones(5, device=dev)
    return torch.nonzero_static(x, size=5)


def size_masked_select(dev):
    x = torch.randn(5, device=dev)
    return torch.masked_select(x, x > 0)  # SYNC


def size_mask_get(dev):
    x = torch.randn(5, device=dev)
    return x[x > 0]  # SYNC


def size_mask_get_backward(dev):
    x = torch.randn(5, device=dev, requires_grad=True)
    y = x[torch.ones(5, dtype=torch.bool, device=dev)]  # SYNC
    y.sum().backward()
    return x.grad


def size_mask_uint8(dev):
    x = torch.randn(5, device=dev)
    m = (x > 0).to(torch.uint8)
    return x[m]  # SYNC


def size_mask_partial(dev):
    x = torch.randn(2, 5, device=dev)
    m = torch.ones(5, dtype=torch.bool, device=dev)
    return x[:, m]  # SYNC


def size_mask_put_number(dev):
    x = torch.randn(5, device=dev)
    x[x > 0] = 0.0
    return x


def size_mask_put_host_scalar(dev):
    x = torch.randn(5, device=dev)
    x[x > 0] = torch.tensor(0.0)
    return x


def size_mask_put_tensor(dev):
    x = torch.randn(5, device=dev)
    v = torch.zeros((), device=dev)
    x[x > 0] = v  # SYNC
    return x


def size_mask_add(dev):
    x = torch.ones(5, device=dev)
    m = x > 0
    x[m] += 1  # SYNC
    return x


def size_cpu_mask_get(dev):
    x = torch.randn(5, device=dev)
    m = torch.tensor([True, False, True, False, True])
    return x[m]


def size_cpu_mask_put(dev):
    x = torch.randn(5, device=dev)
    y = torch.ones((), device=dev)
    m = torch.tensor([True, False, True, False, True])
    x[m] = y
    return x


def size_unique(dev):
    x = torch.randint(0, 5, (10,), device=dev)
    return torch.unique(x)  # SYNC


def size_unique_counts(dev):
    x = torch.randint(0, 5, (10,), device=dev)
    return x.unique(return_counts=True, return_inverse=True)  # SYNC


def size_unique_consecutive(dev):
    x = torch.randint(0, 5, (10,), device=dev)
    return torch.unique_consecutive(x)  # SYNC


def size_unique_dim(dev):
    x = torch.randint(0, 5, (10, 2), device=dev)
    return torch.unique(x, dim=0)  # SYNC


def size_repeat_interleave(dev):
    x = torch.randn(3, device=dev)
    c = torch.full((3,), 2, device=dev)
    return x.repeat_interleave(c)  # SYNC


def size_repeat_interleave_known(dev):
    x = torch.randn(3, device=dev)
    c = torch.full((3,), 2, device=dev)
    return x.repeat_interleave(c, output_size=6), x.repeat_interleave(2)


def size_bincount(dev):
    x = torch.randint(0, 5, (10,), device=dev)
    return torch.bincount(x, minlength=5)  # SYNC


def size_one_hot(dev):
    i = torch.randint(0, 5, (10,), device=dev)
    return F.one_hot(i)  # SYNC


def size_one_hot_known(dev):
    i = torch.randint(0, 5, (10,), device=dev)
    return F.one_hot(i, num_classes=5), F.one_hot(i, 5)


def size_combinations(dev):
    x = torch.arange(4, device=dev)
    return torch.combinations(x)  # SYNC


def size_bincount_scatter(dev):
    x = torch.randint(0, 5, (10,), device=dev)
    return torch.zeros(5, device=dev).scatter_add_(0, x, torch.ones(10, device=dev))


# --- indexing -----------------------------------------------------------------------------------------------------
def index_device_long(dev):
    x = torch.randn(5, 3, device=dev)
    i = torch.randint(0, 5, (2,), device=dev)
    x[i], x.index_select(0, i), x[i, 0], torch.take(x, i)
    return x.gather(0, i[:, None].expand(2, 3))


def index_list(dev):
    x = torch.randn(5, device=dev)
    return x[[0, 1]]  # SYNC


def index_cpu_long(dev):
    x = torch.randn(5, device=dev)
    i = torch.tensor([0, 2])
    return x[i]  # SYNC


def index_numpy(dev):
    x = torch.randn(5, device=dev)
    return x[np.array([0, 2])]  # SYNC


def index_int(dev):
    x = torch.randn(5, 3, device=dev)
    x[0], x[-1, 2], x[1:3], x[..., 0], x[None], x[:, ::2]
    return x[(0, 1)]


def index_device_scalar(dev):
    x = torch.randn(5, device=dev)
    i = torch.full((), 2, device=dev)
    return x[i]  # SYNC


def index_put_cpu_long(dev):
    x = torch.randn(5, device=dev)
    y = torch.ones(2, device=dev)
    x[torch.tensor([0, 2])] = y  # SYNC
    return x


def index_put_device_long(dev):
    x = torch.randn(5, device=dev)
    i = torch.randint(0, 5, (2,), device=dev)
    x[i] = torch.ones(2, device=dev)
    return x.index_fill(0, i, 2.0), x.index_add(0, i, torch.ones(2, device=dev)), x.index_copy(0, i, torch.ones(2, device=dev))


def index_put_long_number(dev):
    x = torch.randn(5, device=dev)
    i = torch.randint(0, 5, (2,), device=dev)
    x[i] = 1.0  # SYNC
    return x


def index_scatter(dev):
    x = torch.zeros(3, 5, device=dev)
    i = torch.randint(0, 3, (1, 5), device=dev)
    x.scatter_(0, i, 1.0)
    x.scatter_add_(0, i, torch.ones(1, 5, device=dev))
    return x.masked_scatter(x > 0, torch.ones(15, device=dev))


def index_backward(dev):
    x = torch.randn(5, device=dev, requires_grad=True)
    i = torch.randint(0, 5, (2,), device=dev)
    x[i].sum().backward()
    return x.grad


def index_embedding(dev):
    e = nn.Embedding(10, 4, device=dev)
    ids = torch.randint(0, 10, (2, 3), device=dev)
    e(ids).sum().backward()
    return e.weight.grad


# --- answers, comparisons -----------------------------------------------------------------------------------------
def ask_equal(dev):
    a = torch.ones(3, device=dev)
    b = torch.ones(3, device=dev)
    return torch.equal(a, b)  # SYNC


def ask_equal_shapes(dev):
    a = torch.ones(3, device=dev)
    return torch.equal(a, torch.ones(4, device=dev))


def ask_equal_same(dev):
    a = torch.ones(3, device=dev)
    return torch.equal(a, a)


def ask_allclose(dev):
    a = torch.ones(3, device=dev)
    return torch.allclose(a, a * 1.0)  # SYNC


def ask_assert_close(dev):
    a = torch.ones(3, device=dev)
    torch.testing.assert_close(a, a * 1.0)  # SYNC


def ask_isclose(dev):
    a = torch.ones(3, device=dev)
    return torch.isclose(a, a * 1.0).all(), (a == 1).any(), torch.isnan(a).any()


def ask_histc(dev):
    a = torch.randn(30, device=dev)
    return torch.histc(a, bins=4)  # SYNC


def ask_histc_range(dev):
    a = torch.randn(30, device=dev)
    return torch.histc(a, bins=4, min=-1, max=1)


def ask_isin_small(dev):
    a = torch.arange(100, device=dev)
    return torch.isin(a, torch.arange(3, device=dev))


def ask_isin_large(dev):
    a = torch.arange(10, device=dev)
    return torch.isin(a, torch.arange(200, device=dev))  # SYNC


def ask_mode(dev):
    a = torch.randint(0, 4, (3000,), device=dev)
    return a.mode()  # SYNC


def ask_mode_small(dev):
    a = torch.randint(0, 4, (3, 20), device=dev)
    return a.mode(dim=1)


def ask_quantile(dev):
    a = torch.randn(30, device=dev)
    return torch.quantile(a, torch.rand(2, device=dev)), torch.quantile(a, 0.5), torch.nanquantile(a, 0.5), a.median()


def ask_isnan_if(dev):
    loss = torch.randn((), device=dev)
    if torch.isnan(loss):  # SYNC
        raise ValueError("nan")
    return loss


# --- numbers in tensors -------------------------------------------------------------------------------------------
def value_masked_fill(dev):
    x = torch.randn(5, device=dev)
    return x.masked_fill(x > 0, 0.0), x.masked_fill_(x < 0, float("-inf"))


def value_masked_fill_tensor(dev):
    x = torch.randn(5, device=dev)
    v = torch.zeros((), device=dev)
    return x.masked_fill(x > 0, v)  # SYNC


def value_index_fill_tensor(dev):
    x = torch.randn(5, device=dev)
    i = torch.randint(0, 5, (2,), device=dev)
    v = torch.zeros((), device=dev)
    return x.index_fill(0, i, v)  # SYNC


def value_where(dev):
    x = torch.randn(5, device=dev)
    return torch.where(x > 0, x, 0.0), torch.where(x > 0, x, torch.zeros_like(x))


def value_where_host(dev):
    x = torch.randn(5, device=dev)
    zero = torch.tensor(0.0)
    return torch.where(x > 0, x, zero)  # SYNC


def value_host_scalar(dev):
    x = torch.randn(5, device=dev)
    c = torch.tensor(2.0)
    return x + c, x * 2.0, c * x, x / c


def value_clamp(dev):
    x = torch.randn(5, device=dev)
    low = torch.zeros((), device=dev)
    return x.clamp(min=low), x.clamp(0, 1), torch.maximum(x, low), x.clamp_min(0.0)


def value_add_alpha(dev):
    x = torch.randn(5, device=dev)
    a = torch.ones((), device=dev)
    return torch.add(x, x, alpha=a)  # SYNC


def value_narrow(dev):
    x = torch.randn(5, device=dev)
    s = torch.full((), 1, device=dev)
    return x.narrow(0, s, 2)  # SYNC


# --- random, sorting ----------------------------------------------------------------------------------------------
def random_free(dev):
    p = torch.rand(4, 6, device=dev)
    torch.multinomial(p, 2), torch.randperm(10, device=dev), torch.bernoulli(p), F.dropout(p, 0.5), p.uniform_(), p.exponential_()
    return torch.normal(0.0, 1.0, (3,), device=dev)


def random_normal_std(dev):
    m = torch.zeros(3, device=dev)
    s = torch.ones(3, device=dev)
    return torch.normal(m, s)  # SYNC


def random_normal_mean(dev):
    m = torch.zeros(3, device=dev)
    return torch.normal(m, 1.0)


def random_generator(dev):
    g = torch.Generator(device=dev)
    g.manual_seed(3)
    return torch.randn(3, device=dev, generator=g), torch.rand(3, generator=g, device=dev)


def sort_free(dev):
    x = torch.randn(4, 6, device=dev)
    x.sort(), x.topk(2), x.median(), x.kthvalue(2), x.cumsum(0), x.argsort(), x.max(dim=1), x.argmax(), x.any(), x.all()
    return torch.searchsorted(x.sort().values, x), torch.bucketize(x, x[0].sort().values)


def math_free(dev):
    x = torch.randn(4, 4, device=dev)
    x.softmax(-1), x.norm(), x.std(), x.var(0), x @ x, torch.einsum("ij,jk->ik", x, x), x.logsumexp(0), x.roll(1), x.flip(0)
    return x.triu(), x.diagonal(), torch.cat([x, x]), x.split(2), x.chunk(2), torch.cdist(x, x), torch.linalg.norm(x)


# --- linear algebra -----------------------------------------------------------------------------------------------
def _spd(dev):
    a = torch.eye(3, device=dev)
    return a + 0.1 * torch.ones(3, 3, device=dev)


def linalg_cholesky(dev):
    return torch.linalg.cholesky(_spd(dev))  # SYNC


def linalg_inv(dev):
    return torch.linalg.inv(_spd(dev))  # SYNC


def linalg_solve(dev):
    a = _spd(dev)
    return torch.linalg.solve(a, torch.ones(3, device=dev))  # SYNC


def linalg_lu_factor(dev):
    return torch.linalg.lu_factor(_spd(dev))  # SYNC


def linalg_svd(dev):
    return torch.linalg.svd(_spd(dev))  # SYNC


def linalg_eigh(dev):
    return torch.linalg.eigh(_spd(dev))  # SYNC


def linalg_eig(dev):
    return torch.linalg.eigvals(_spd(dev))  # SYNC


def linalg_pinv(dev):
    return torch.linalg.pinv(_spd(dev))  # SYNC


def linalg_lstsq(dev):
    a = _spd(dev)
    return torch.linalg.lstsq(a, torch.ones(3, 1, device=dev))  # SYNC


def linalg_matrix_exp(dev):
    return torch.linalg.matrix_exp(_spd(dev))  # SYNC


def linalg_spectral_norm(dev):
    return torch.linalg.matrix_norm(_spd(dev), 2)  # SYNC


def linalg_cholesky_inverse(dev):
    u = torch.linalg.cholesky_ex(_spd(dev)).L
    return torch.cholesky_inverse(u)


def linalg_free(dev):
    a = _spd(dev)
    torch.linalg.cholesky_ex(a), torch.linalg.inv_ex(a), torch.linalg.det(a), torch.linalg.slogdet(a), torch.linalg.qr(a)
    return torch.linalg.matrix_power(a, 3), torch.trace(a), torch.linalg.vector_norm(a), torch.logdet(a)


# --- saving, copying ----------------------------------------------------------------------------------------------
def save_tensor(dev):
    x = torch.randn(3, device=dev)
    f = io.BytesIO()
    torch.save(x, f)  # SYNC
    return f


def save_state_dict(dev):
    m = nn.Linear(3, 2, device=dev)
    f = io.BytesIO()
    torch.save(m.state_dict(), f)  # SYNC
    return f


def save_pickle(dev):
    x = torch.randn(3, device=dev)
    return pickle.dumps(x)  # SYNC


def save_host(dev):
    x = torch.randn(3)
    f = io.BytesIO()
    torch.save(x, f)
    return f


def save_deepcopy(dev):
    x = torch.randn(3, device=dev)
    m = nn.Linear(3, 2, device=dev)
    copy.deepcopy(m)(x)
    return copy.deepcopy(x) + x


def save_clone(dev):
    x = torch.randn(3, device=dev)
    return x.clone(), x.detach(), x.contiguous(), x.data


def save_state_dict_copy(dev):
    m = nn.Linear(3, 2, device=dev)
    state = {k: v.clone() for k, v in m.state_dict().items()}
    m.load_state_dict(state)
    return m


def load_map_location(dev):
    f = io.BytesIO()
    torch.save(torch.randn(3), f)
    f.seek(0)
    x = torch.load(f, map_location=dev)  # SYNC
    return x + torch.ones(3, device=dev)


def load_state_dict_host(dev):
    m = nn.Linear(3, 2, device=dev)
    m.load_state_dict(nn.Linear(3, 2).state_dict())  # SYNC
    return m


# --- the whole device ---------------------------------------------------------------------------------------------
def device_synchronize(dev):
    torch.ones(3, device=dev)
    torch.cuda.synchronize()  # SYNC


def device_stream_synchronize(dev):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x = torch.ones(3, device=dev)
    torch.cuda.current_stream().wait_stream(s)
    s.synchronize()  # SYNC
    return x


def device_event(dev):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    torch.ones(3, device=dev) * 2
    end.record()
    end.synchronize()  # SYNC
    return start.elapsed_time(end)


def device_queries(dev):
    torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device(), torch.cuda.get_device_name()
    torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.reset_peak_memory_stats()
    return torch.ones(3, device=dev).device.type


# --- backward -----------------------------------------------------------------------------------------------------
def backward_prod(dev):
    x = torch.rand(4, device=dev, requires_grad=True)
    y = x.prod()  # SYNC
    y.backward()
    return x.grad


def backward_cumprod(dev):
    x = torch.rand(4, device=dev, requires_grad=True)
    y = x.cumprod(0)  # SYNC
    y.sum().backward()
    return x.grad


def backward_free(dev):
    x = torch.rand(4, device=dev, requires_grad=True)
    y = (x * 2).sin().sum() + x.std() + x.softmax(0).max() + x.sort().values[0] + x.cumsum(0)[1]
    y.backward()
    return x.grad


def backward_custom_function(dev):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if g.norm() > 1:  # SYNC
                g = g / g.norm()
            return g

    x = torch.rand(4, device=dev, requires_grad=True)
    Clip.apply(x).sum().backward()
    return x.grad


def backward_hook(dev):
    x = torch.rand(4, device=dev, requires_grad=True)
    norms = []
    y = x * 2
    y.register_hook(lambda g: norms.append(g.norm().item()))  # SYNC
    y.sum().backward()
    return norms


def backward_grad_function(dev):
    x = torch.rand(4, device=dev, requires_grad=True)
    (g,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


# --- modules ------------------------------------------------------------------------------------------------------
def module_mlp(dev):
    m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.LayerNorm(8), nn.Linear(8, 2))
    for p in m.parameters():
        p.data = torch.randn(p.shape, device=dev)
    return m(torch.randn(3, 4, device=dev))


def module_linear_device(dev):
    m = nn.Linear(4, 2, device=dev)
    return m(torch.randn(3, 4, device=dev)).sum().backward()


def module_batchnorm_device(dev):
    m = nn.BatchNorm1d(4, device=dev)  # SYNC
    return m(torch.randn(3, 4, device=dev))


def module_batchnorm_momentum(dev):
    m = nn.BatchNorm1d(4, momentum=None, track_running_stats=True, device=dev)  # SYNC
    x = torch.randn(3, 4, device=dev)
    return m(x)  # SYNC


def module_conv(dev):
    m = nn.Conv2d(3, 4, 3, device=dev)
    x = torch.randn(1, 3, 8, 8, device=dev)
    F.max_pool2d(m(x), 2).sum().backward()
    return F.interpolate(x, scale_factor=2)


def module_lstm(dev):
    m = nn.LSTM(4, 8, batch_first=True, device=dev)
    out, (h, c) = m(torch.randn(2, 5, 4, device=dev))
    out.sum().backward()
    return h


def module_gru_packed(dev):
    m = nn.GRU(4, 8, batch_first=True, device=dev)
    lengths = torch.tensor([5, 3])
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(2, 5, 4, device=dev), lengths, batch_first=True)
    out, _ = m(packed)
    return out.data.sum()


def module_attention(dev):
    m = nn.MultiheadAttention(8, 2, batch_first=True, device=dev)
    x = torch.randn(2, 5, 8, device=dev)
    out, w = m(x, x, x)
    out.sum().backward()
    return w


def module_sdpa(dev):
    q = torch.randn(2, 2, 5, 8, device=dev)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def module_sdpa_mask(dev):
    q = torch.randn(2, 2, 5, 8, device=dev)
    m = torch.ones(5, 5, dtype=torch.bool, device=dev).tril()
    return F.scaled_dot_product_attention(q, q, q, attn_mask=m)


def module_embedding_max_norm(dev):
    e = nn.Embedding(10, 4, max_norm=1.0, device=dev)
    ids = torch.randint(0, 10, (3,), device=dev)
    return e(ids)


def module_embedding_bag(dev):
    e = nn.EmbeddingBag(10, 4, device=dev)
    ids = torch.randint(0, 10, (2, 3), device=dev)
    return e(ids).sum().backward()


def module_losses(dev):
    x = torch.randn(4, 3, device=dev, requires_grad=True)
    t = torch.randint(0, 3, (4,), device=dev)
    y = torch.rand(4, 3, device=dev)
    loss = F.cross_entropy(x, t) + F.mse_loss(x, y) + F.binary_cross_entropy_with_logits(x, y) + F.huber_loss(x, y)
    loss = loss + F.nll_loss(x.log_softmax(1), t) + F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")
    loss = loss + F.cosine_embedding_loss(x, y, torch.ones(4, device=dev)) + F.triplet_margin_loss(x, y, y + 1)
    loss.backward()
    return loss


def module_gaussian_nll(dev):
    x = torch.randn(4, device=dev)
    return F.gaussian_nll_loss(x, x + 1, torch.ones(4, device=dev))  # SYNC


def module_ctc_device_lengths(dev):
    logp = torch.randn(10, 2, 5, device=dev).log_softmax(2)
    targets = torch.randint(1, 5, (2, 3), device=dev)
    n = torch.full((2,), 10, device=dev)
    k = torch.full((2,), 3, device=dev)
    return F.ctc_loss(logp, targets, n, k)  # SYNC


def module_ctc_tuple_lengths(dev):
    logp = torch.randn(10, 2, 5, device=dev).log_softmax(2)
    targets = torch.randint(1, 5, (2, 3), device=dev)
    return F.ctc_loss(logp, targets, (10, 10), (3, 3))  # SYNC


def module_ctc_host_targets(dev):
    logp = torch.randn(10, 2, 5, device=dev).log_softmax(2)
    targets = torch.randint(1, 5, (6,), dtype=torch.int32)
    return F.ctc_loss(logp, targets, (10, 10), (3, 3))  # SYNC


def module_ctc_host_lengths(dev):
    logp = torch.randn(10, 2, 5, device=dev).log_softmax(2)
    targets = torch.randint(1, 5, (2, 3), device=dev)
    return F.ctc_loss(logp, targets, torch.full((2,), 10), torch.full((2,), 3))  # SYNC


def module_ctc_module(dev):
    logp = torch.randn(10, 2, 5, device=dev, requires_grad=True)
    targets = torch.randint(1, 5, (2, 3), device=dev)
    loss = nn.CTCLoss()(logp.log_softmax(2), targets, (10, 10), (3, 3))  # SYNC
    loss.backward()
    return logp.grad


def module_transformer_layer(dev):
    m = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device=dev)
    return m(torch.randn(2, 5, 8, device=dev)).sum().backward()


def module_weight_norm(dev):
    m = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2, device=dev))
    return m(torch.randn(3, 4, device=dev)).sum().backward()


def module_clip_grad(dev):
    m = nn.Linear(4, 2, device=dev)
    m(torch.randn(3, 4, device=dev)).sum().backward()
    return nn.utils.clip_grad_norm_(m.parameters(), 1.0)


def module_clip_grad_check(dev):
    m = nn.Linear(4, 2, device=dev)
    m(torch.randn(3, 4, device=dev)).sum().backward()
    return nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)  # SYNC


def module_checkpoint(dev):
    from torch.utils.checkpoint import checkpoint

    m = nn.Linear(4, 4, device=dev)
    x = torch.randn(3, 4, device=dev, requires_grad=True)
    checkpoint(m, x, use_reentrant=False).sum().backward()
    return x.grad


def module_pad_sequence(dev):
    seqs = [torch.randn(n, device=dev) for n in (3, 5)]
    return nn.utils.rnn.pad_sequence(seqs, batch_first=True)


def module_distribution_checked(dev):
    d = torch.distributions.Normal(torch.zeros(3, device=dev), torch.ones(3, device=dev), validate_args=True)  # SYNC
    return d.rsample()


def module_distribution_unchecked(dev):
    d = torch.distributions.Normal(torch.zeros(3, device=dev), torch.ones(3, device=dev), validate_args=False)
    return d.log_prob(d.rsample())


# --- optimizers ---------------------------------------------------------------------------------------------------
def _model(dev):
    return nn.Sequential(nn.Linear(4, 8, device=dev), nn.Tanh(), nn.Linear(8, 1, device=dev))


def optim_adamw(dev):
    m = _model(dev)
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)
    for _ in range(2):
        o.zero_grad()
        m(torch.randn(3, 4, device=dev)).mean().backward()
        o.step()
    return m


def optim_adam_single(dev):
    m = _model(dev)
    o = torch.optim.Adam(m.parameters(), lr=1e-3, foreach=False)
    m(torch.randn(3, 4, device=dev)).mean().backward()
    o.step()
    o.step()
    return o.state_dict()


def optim_sgd_momentum(dev):
    m = _model(dev)
    o = torch.optim.SGD(m.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    m(torch.randn(3, 4, device=dev)).mean().backward()
    o.step()
    return o


def optim_many_clean(dev):
    for kind in (torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax, torch.optim.Adadelta):
        m = _model(dev)
        o = kind(m.parameters(), lr=1e-3)
        m(torch.randn(3, 4, device=dev)).mean().backward()
        o.step()
        o.step()
    return m


def optim_asgd(dev):
    m = _model(dev)
    o = torch.optim.ASGD(m.parameters(), lr=1e-3, foreach=False)
    m(torch.randn(3, 4, device=dev)).mean().backward()
    o.step()  # SYNC
    return o


def optim_lbfgs(dev):
    m = _model(dev)
    o = torch.optim.LBFGS(m.parameters(), max_iter=2)
    x = torch.randn(3, 4, device=dev)

    def closure():
        o.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        return loss

    o.step(closure)  # SYNC
    return o


def optim_grad_scaler(dev):
    m = _model(dev)
    o = torch.optim.SGD(m.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = m(torch.randn(3, 4, device=dev)).mean()
    scaler.scale(loss).backward()
    scaler.step(o)  # SYNC
    scaler.update()
    return scaler


def optim_scheduler_plateau(dev):
    m = _model(dev)
    o = torch.optim.SGD(m.parameters(), lr=1e-3)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o)
    loss = m(torch.randn(3, 4, device=dev)).mean()
    s.step(loss)  # SYNC
    return s


def optim_scheduler_cosine(dev):
    m = _model(dev)
    o = torch.optim.SGD(m.parameters(), lr=1e-3)
    s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)
    m(torch.randn(3, 4, device=dev)).mean().backward()
    o.step()
    s.step()
    return s.get_last_lr()


def optim_ema(dev):
    m = _model(dev)
    e = copy.deepcopy(m)
    with torch.no_grad():
        for p, q in zip(e.parameters(), m.parameters()):
            p.mul_(0.9).add_(q, alpha=0.1)
            p.lerp_(q, 0.5)
    return e


# --- training, evaluation, data -----------------------------------------------------------------------------------
def train_step_clean(dev):
    m = _model(dev)
    o = torch.optim.AdamW(m.parameters())
    losses = []
    for _ in range(3):
        x = torch.randn(4, 4, device=dev)
        y = torch.randn(4, 1, device=dev)
        loss = F.mse_loss(m(x), y)
        o.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean()


def train_step_running_loss(dev):
    m = _model(dev)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    running = 0.0
    for _ in range(3):
        loss = m(torch.randn(4, 4, device=dev)).pow(2).mean()
        o.zero_grad()
        loss.backward()
        o.step()
        running += loss.item()  # SYNC
    return running


def train_step_running_tensor(dev):
    m = _model(dev)
    running = 0.0
    for _ in range(3):
        loss = m(torch.randn(4, 4, device=dev)).pow(2).mean()
        running += loss.detach()
    return running


def train_step_log_every(dev):
    m = _model(dev)
    for step in range(4):
        loss = m(torch.randn(4, 4, device=dev)).pow(2).mean()
        if step % 2 == 0:
            print(f"{step}: {loss:.4f}")  # SYNC
    return loss


def train_loader(dev):
    data = TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
    m = _model(dev)
    for x, y in DataLoader(data, batch_size=4, shuffle=True):
        x = x.to(dev)  # SYNC
        y = y.to(dev)  # SYNC
        F.mse_loss(m(x), y).backward()
    return m


def train_loader_pinned(dev):
    data = TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
    m = _model(dev)
    for x, y in DataLoader(data, batch_size=4, pin_memory=True):
        x = x.to(dev, non_blocking=True)
        y = y.to(dev, non_blocking=True)
        F.mse_loss(m(x), y).backward()
    return m


def train_loader_shuffle_generator(dev):
    data = TensorDataset(torch.arange(8.0))
    g = torch.Generator()
    g.manual_seed(0)
    total = 0
    for (x,) in DataLoader(data, batch_size=4, shuffle=True, generator=g):
        total += x.sum().item()
    return total


def eval_accuracy(dev):
    logits = torch.randn(8, 3, device=dev)
    y = torch.randint(0, 3, (8,), device=dev)
    correct = (logits.argmax(1) == y).sum().item()  # SYNC
    return correct / len(y)


def eval_accuracy_tensor(dev):
    correct = torch.zeros((), device=dev)
    for _ in range(2):
        logits = torch.randn(8, 3, device=dev)
        y = torch.randint(0, 3, (8,), device=dev)
        correct += (logits.argmax(1) == y).sum()
    return correct / 16


def eval_best(dev):
    best = float("inf")
    for _ in range(2):
        loss = torch.rand((), device=dev)
        best = min(best, loss)  # SYNC
    return best


def eval_early_stop(dev):
    best = torch.full((), 1e9, device=dev)
    loss = torch.rand((), device=dev)
    if loss < best:  # SYNC
        best = loss
    return best


def eval_collect_predictions(dev):
    out = []
    for _ in range(2):
        out.append(torch.randn(3, device=dev))
    return torch.cat(out).cpu()  # SYNC


def eval_generate(dev):
    ids = torch.zeros(1, 1, dtype=torch.long, device=dev)
    emb = nn.Embedding(10, 8, device=dev)
    head = nn.Linear(8, 10, device=dev)
    for _ in range(3):
        logits = head(emb(ids))[:, -1]
        nxt = torch.multinomial(logits.softmax(-1), 1)
        ids = torch.cat([ids, nxt], dim=1)
        if (nxt == 11).all():  # SYNC
            break
    return ids


def eval_top_k_filter(dev):
    logits = torch.randn(2, 10, device=dev)
    v, _ = torch.topk(logits, 3)
    logits[logits < v[:, [-1]]] = -float("inf")  # SYNC
    return logits.softmax(-1)


def eval_top_k_filter_free(dev):
    logits = torch.randn(2, 10, device=dev)
    v, _ = torch.topk(logits, 3)
    logits[logits < v[:, -1:]] = -float("inf")
    return torch.where(logits < v[:, -1:], float("-inf"), logits)


def eval_masked_mean(dev):
    loss = torch.rand(2, 5, device=dev)
    mask = torch.rand(2, 5, device=dev) > 0.5
    return (loss * mask).sum() / mask.sum().clamp(min=1)


def eval_masked_mean_select(dev):
    loss = torch.rand(2, 5, device=dev)
    mask = torch.rand(2, 5, device=dev) > 0.5
    return loss[mask].mean()  # SYNC


def eval_no_grad_inference(dev):
    m = _model(dev).eval()
    with torch.inference_mode():
        return m(torch.randn(2, 4, device=dev)).argmax(dim=-1)


def vmap_grad(dev):
    w = torch.randn(4, device=dev)
    x = torch.randn(3, 4, device=dev)
    g = torch.func.vmap(torch.func.grad(lambda w, x: (w * x).sum().sin()), (None, 0))(w, x)
    return g.norm()


def functional_call(dev):
    m = _model(dev)
    params = {k: v.detach() for k, v in m.named_parameters()}
    return torch.func.functional_call(m, params, (torch.randn(2, 4, device=dev),))


def compiled_eager(dev):
    f = torch.compile(lambda x: (x * 2).sin(), backend="eager")
    return f(torch.randn(3, device=dev))


def conditional_on_shape(dev):
    x = torch.randn(4, device=dev)
    if x.shape[0] > 2 and x.numel() and x.ndim == 1:
        return x.sum()
    return None


def dynamic_padding(dev):
    mask = torch.ones(2, 5, device=dev)
    longest = int(mask.sum(1).max())  # SYNC
    return mask[:, :longest]


def dynamic_padding_host(dev):
    lengths = torch.tensor([3, 5])
    longest = int(lengths.max())
    x = torch.zeros(2, longest, device=dev)
    return x


def positional_encoding(dev):
    pos = torch.arange(5, device=dev).unsqueeze(1)
    div = torch.exp(torch.arange(0, 8, 2, device=dev) * (-math.log(10000.0) / 8))
    pe = torch.zeros(5, 8, device=dev)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


def rope_rotation(dev):
    x = torch.randn(2, 4, 8, device=dev)
    a, b = x[..., :4], x[..., 4:]
    return torch.cat((-b, a), dim=-1) * torch.arange(4, device=dev)[:, None].cos()


def beam_reorder(dev):
    scores = torch.randn(2, 6, device=dev)
    best, where = scores.topk(3, dim=-1)
    beams = where // 2
    hist = torch.randint(0, 9, (2, 3, 4), device=dev)
    return hist.gather(1, beams[..., None].expand(-1, -1, 4) % 3)


def confusion_matrix(dev):
    p = torch.randint(0, 3, (8,), device=dev)
    t = torch.randint(0, 3, (8,), device=dev)
    return torch.bincount(t * 3 + p, minlength=9).view(3, 3)  # SYNC


def nan_guard(dev):
    g = torch.randn(3, device=dev)
    if not torch.isfinite(g).all():  # SYNC
        g.zero_()
    return torch.nan_to_num(g)


def tqdm_postfix(dev):
    stats = {"loss": torch.rand((), device=dev), "acc": torch.rand((), device=dev)}
    return " ".join(f"{k}={float(v):.2f}" for k, v in stats.items())  # SYNC


def set_default_device(dev):
    torch.set_default_device(dev)
    try:
        x = torch.randn(3)
        y = torch.arange(3) * 2
    finally:
        torch.set_default_device(None)
    return (x + y).sum().item()  # SYNC


# --- upstream's own list: what must warn and what must not under CUDA's sync debug mode -----------------------------
def upstream_silent(dev):
    x = torch.rand(4, device=dev)
    y = torch.rand((), device=dev)
    ind = torch.randint(4, (3,), device=dev)
    repeats = torch.full((1,), 2, device=dev)
    mask = torch.randint(2, (4,), device=dev, dtype=torch.bool)
    x[mask] = 1.0
    x[ind] = y
    x[ind]
    F.one_hot(ind, num_classes=4)
    torch.randperm(20000, device=dev)
    torch.repeat_interleave(x, 2, output_size=8)
    torch.repeat_interleave(x, repeats, output_size=8)
    return torch.any(y)


def upstream_warns(dev):
    x = torch.rand(4, device=dev)
    y = torch.rand((), device=dev)
    ind = torch.randint(4, (3,), device=dev)
    ind_cpu = ind.cpu()  # SYNC
    repeats = torch.full((1,), 2, device=dev)
    mask = torch.randint(2, (4,), device=dev, dtype=torch.bool)
    x[mask] = y  # SYNC
    x[ind_cpu] = y  # SYNC
    x[mask]  # SYNC
    x[ind_cpu]  # SYNC
    x.nonzero()  # SYNC
    if y:  # SYNC
        x = x + 1
    F.one_hot(ind)  # SYNC
    return torch.repeat_interleave(x, repeats)  # SYNC

"""Why an operation waits, and what to write instead: one sentence each, by the keys that the table's rows name."""

from __future__ import annotations

WHY = {
    "read": "reads a number on the host, which waits until the GPU has finished everything before it",
    "copy_to_host": "copies the values to the host, which waits until the GPU has computed them",
    "copy_to_device": "copies from the host to the GPU and waits until the copy is done",
    "copy_across": "copies between host and GPU and waits until the copy is done",
    "pageable": "non_blocking=True from memory that is not pinned: the driver has to stage the copy and may wait",
    "size": "the size of the result depends on the values, so the host waits for the GPU to count them",
    "answer": "the host waits for the GPU's answer before it can go on",
    "check": "the host waits to look at the GPU's error code or range check",
    "prod": "the gradient of a product looks for zeros in its input (nonzero), and the host waits for their number",
    "device": "waits until the GPU has finished everything",
    "event": "waits until the GPU has reached the event",
}

INSTEAD = {
    "keep": "keep the tensor (detach() it), and read it every N steps or after the loop",
    "tolist": "keep the tensor on the GPU, or collect the tensors and convert once after the loop",
    "print": "log every N steps, or after the loop; format shape and dtype, which are free",
    "numpy": "keep the tensor on the GPU, or collect and convert once after the loop",
    "to_host": "keep it on the GPU; or copy with non_blocking=True and synchronise once, before the values are used",
    "to_device": "pin the memory (DataLoader(pin_memory=True), or .pin_memory()) and copy with non_blocking=True",
    "pin": "pin the memory: DataLoader(pin_memory=True), or .pin_memory() before .to()",
    "from_data": "make it on the GPU (torch.full, torch.arange, …(device=…)), or once outside the loop",
    "outside": "do it once outside the loop, or on the host before the data goes to the GPU",
    "save": "save every N steps, not in each; that one block may say allow_sync('checkpoint')",
    "nonzero": "work with the mask itself (torch.where(mask, a, b)), or torch.nonzero_static(x, size=n)",
    "mask": "torch.where(mask, x, 0.0) keeps the shape: sum it and divide by mask.sum()",
    "mask_put": "x.masked_fill(mask, number), or torch.where(mask, value, x)",
    "host_index": "make the index on x's device once (torch.tensor([…], device=x.device)), or use slices or torch.stack",
    "host_value": "x.index_fill(dim, idx, number), or torch.where; or make the value on x's device once",
    "repeat_interleave": "give output_size=, when the total is known",
    "bincount": "torch.zeros(n, device=…).scatter_add_(0, x, ones), when the number of bins is known",
    "one_hot": "give num_classes=",
    "equal": "compare after the step; inside it keep (a == b).all() as a tensor",
    "histc": "give min= and max=",
    "isin": "give assume_unique=True where it holds, or (a[:, None] == b).any(-1) for a small b",
    "scalar_value": "pass a Python number, or torch.where(mask, value, x)",
    "where_host": "pass a Python number: torch.where(c, x, 0.0)",
    "normal": "mean + std * torch.randn_like(std), which is what rsample() does",
    "linalg_ex": "the _ex form (cholesky_ex, inv_ex, solve_ex, lu_factor_ex) returns the error code as a tensor",
    "ctc": "nothing avoids it: the lengths go to the GPU. Give them as tuples or CPU tensors, or they come from there first",
    "segment_reduce": "give offsets=, or unsafe=True where the lengths are known to fit",
    "mask_backward": "torch.where(mask, value, x), whose gradient keeps the shape",
    "nested": "nn.TransformerEncoder(…, enable_nested_tensor=False)",
    "prod": "for positive values x.log().sum().exp(); or keep prod out of the differentiated path",
    "synchronize": "leave it out: work on one stream is in order; to time, record events and read them after the loop",
    "generic": "keep the value on the GPU, or do it every N steps",
}


# What each kind of name means in torch's own optimizers and modules, for waits that the user did not write.
HIDDEN = {
    "torch/optim/lbfgs": "LBFGS reads its losses and step sizes on the host, about a hundred times a step",
    "torch/optim/_adafactor": "Adafactor reads norms on the host, twice for each parameter",
    "torch/optim/asgd": "ASGD reads its step sizes on the host, for each parameter",
    "torch/optim/lr_scheduler": "ReduceLROnPlateau compares the metric on the host",
    "torch/amp/grad_scaler": "GradScaler.step looks once whether a gradient overflowed; that is how it works",
    "torch/nn/utils/clip_grad": "clip_grad_norm_(error_if_nonfinite=True) asks on the host; leave it False",
    "torch/nn/modules/batchnorm": "BatchNorm(momentum=None) reads num_batches_tracked in each forward; give a momentum",
    "torch/nn/modules/transformer": "the encoder looks at the mask's values: give is_causal=, or no padding mask in eval",
    "torch/nn/modules/adaptive": "AdaptiveLogSoftmaxWithLoss picks the rows of each cluster by a mask",
    "torch/nn/modules/loss": "this loss checks or selects by value",
    "torch/nn/functional": "this function checks or selects by value",
    "torch/nn/utils/parametrizations": "the parametrization factorises its weight in each forward",
    "torch/distributions": "argument checks: Distribution.set_default_validate_args(False), or validate_args=False",
}


def hidden(inside: str) -> str:
    """What is known about a wait in a library's own frame ("torch/optim/lbfgs.py:312 in step"), or ""."""
    return next((text for prefix, text in HIDDEN.items() if inside.startswith(prefix)), "")

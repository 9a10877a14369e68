"""Programs for the broadcast guard: `BUGS` must be reported (once), `CORRECT` must not be. No imports needed in them.

The bugs of real threads are restated from public reports; `source` names them. `n` is 5, `m` is 7: sizes that coincide
(`N == 5`, `D == 5`) are used on purpose in correct programs, where they make an innocent shape look guilty.
"""

from __future__ import annotations

# name -> program
TORCH_BUGS: dict[str, str] = {
    # -- from reports ------------------------------------------------------------------------------------------------
    "dataloader targets (fastai 1863)": """
        data = TensorDataset(torch.randn(64, 3), torch.randn(64))
        model, loss_func = nn.Linear(3, 1), nn.MSELoss(reduction="none")
        for xb, yb in DataLoader(data, batch_size=16):
            loss = loss_func(model(xb), yb)
    """,
    "difference of a prediction (pytorch_geometric_temporal 233)": """
        y = torch.rand(20)
        y_hat = nn.Linear(4, 1)(torch.rand(20, 4))
        cost = torch.mean((y_hat - y) ** 2)
    """,
    "MSELoss module (pytorch 19699)": "nn.MSELoss()(torch.randn(100, 1), torch.randn(100))",
    "advantage (torchrl 1243)": "reinforce = torch.randn(n) * torch.randn(n, 1)",
    "regressor (sktime 10931)": """
        net = nn.Sequential(nn.Flatten(), nn.Linear(40, 16), nn.ReLU(), nn.Linear(16, 1))
        res = net(torch.rand(6, 2, 20)) - torch.rand(6)
    """,
    "initial condition (NeuralSolvers 20)": """
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        F.mse_loss(model(torch.rand(32, 3)), torch.rand(32), reduction="none")
    """,
    "accuracy (LaBraM 15)": """
        output, targets = torch.randn(64, 3), torch.randint(0, 3, (64, 1))
        acc = (output.max(-1)[-1] == targets).float().mean()
    """,
    "detached value (Packt 74)": """
        net_out = nn.Linear(8, 1)(torch.rand(128, 8))
        adv = torch.rand(128) - net_out.detach()
    """,
    "an unsqueeze that should not be (autovc 66)": """
        x_real, mel = torch.rand(4, 128, 80), torch.rand(4, 128, 80)
        mel = mel.unsqueeze(1)
        F.mse_loss(x_real, mel, reduction="none")
    """,
    "squeezed logits (FARM 229)": """
        logits = nn.Linear(768, 1)(torch.randn(32, 768)).squeeze()
        nn.MSELoss(reduction="none")(logits, torch.rand(32, 1) * 16)
    """,
    # -- other spellings -----------------------------------------------------------------------------------------------
    "torch.sub": "torch.sub(torch.rand(n, 1), torch.rand(n))",
    "torch.subtract by keyword": "torch.subtract(input=torch.rand(n, 1), other=torch.rand(n))",
    "method": "torch.rand(n, 1).sub(torch.rand(n))",
    "divided": "torch.rand(n, 1) / torch.rand(n)",
    "power": "torch.rand(n, 1) ** torch.rand(n)",
    "column on the right": "torch.rand(n) + torch.rand(n, 1)",
    "row meets column": "torch.randn(1, 5) - torch.randn(4, 1)",
    "row meets its equal as a column": "torch.randn(1, n) * torch.randn(n, 1)",
    "eq method": "torch.rand(n, 3).argmax(1).eq(torch.zeros(n, 1, dtype=torch.long)).sum()",
    "argmax keepdim against labels": """
        pred = torch.rand(n, 3).argmax(dim=1, keepdim=True)
        (pred == torch.zeros(n, dtype=torch.long)).sum()
    """,
    "max keepdim against labels": """
        _, pred = torch.max(torch.rand(n, 3), 1, keepdim=True)
        (pred == torch.zeros(n, dtype=torch.long)).sum().item()
    """,
    "topk against labels": """
        _, pred = torch.rand(n, 3).topk(1, 1)
        pred.eq(torch.zeros(n, dtype=torch.long)).sum()
    """,
    "thresholded probabilities": """
        prob = torch.sigmoid(nn.Linear(3, 1)(torch.rand(n, 3)))
        ((prob > 0.5) == torch.ones(n).bool()).float().mean()
    """,
    "not equal": "errors = (torch.rand(n, 1) != torch.rand(n)).sum()",
    "greater": "torch.rand(n, 1).gt(torch.rand(n))",
    "torch.where with a column condition": "torch.where(torch.rand(n, 1) > 0.5, torch.rand(n), torch.rand(n))",
    "torch.where with a column choice": "torch.where(torch.rand(n) > 0.5, torch.rand(n, 1), 0.0)",
    "method where": "torch.rand(n).where(torch.rand(n, 1) > 0.5, torch.zeros(n))",
    "maximum": "torch.maximum(torch.rand(n, 1), torch.rand(n))",
    "two-tensor max": "torch.max(torch.rand(n, 1), torch.rand(n))",
    "clipped surrogate (PPO)": """
        ratio, advantage = torch.rand(n), torch.rand(n, 1)
        surrogate = torch.clamp(ratio, 0.8, 1.2) * advantage
    """,
    "TD target": """
        q = nn.Linear(4, 2)(torch.rand(n, 4)).gather(1, torch.zeros(n, 1, dtype=torch.long))
        td = torch.rand(n) + 0.99 * torch.rand(n) - q
    """,
    "mask of another rank": "loss = (torch.rand(n, 1) * torch.rand(n, 1)) * (torch.rand(n) > 0.5)",
    "weights of another rank": "weighted = torch.rand(n, 1) * torch.rand(n)",
    "a missing channel axis": "torch.rand(4, 1, 8, 8) - torch.rand(4, 8, 8)",
    "l1": "F.l1_loss(torch.rand(n, 1), torch.rand(n))",
    "smooth l1": "F.smooth_l1_loss(torch.rand(n), torch.rand(n, 1))",
    "huber": "F.huber_loss(torch.rand(n), torch.rand(n, 1))",
    "poisson": "F.poisson_nll_loss(torch.rand(n, 1), torch.rand(n))",
    "hinge embedding": "nn.HingeEmbeddingLoss()(torch.rand(n, 1), torch.ones(n))",
    "kl": "F.kl_div(torch.rand(n, 1).log(), torch.rand(n), reduction='batchmean')",
    "gaussian nll": "F.gaussian_nll_loss(torch.rand(n, 1), torch.rand(n), torch.ones(n, 1))",
    "loss with a target viewed earlier": """
        pred = nn.Linear(3, 1)(torch.rand(n, 3)).squeeze(-1)
        target = torch.rand(n).view(-1, 1)
        F.mse_loss(pred, target)
    """,
    "difference with a target viewed earlier": """
        pred = nn.Linear(3, 1)(torch.rand(n, 3)).squeeze(-1)
        target = torch.rand(n).view(-1, 1)
        loss = ((pred - target) ** 2).mean()
    """,
    "a model that views its output": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 1)
            def forward(self, x):
                return self.fc(x).view(-1, 1)
        loss = ((Net()(torch.rand(n, 3)) - torch.rand(n)) ** 2).mean()
    """,
    "a model that unsqueezes its output": """
        class Net(nn.Module):
            def forward(self, x):
                return x.sum(1).unsqueeze(-1)
        loss = (Net()(torch.rand(n, 3)) - torch.rand(n)).abs().mean()
    """,
    "labels unsqueezed for another loss": """
        labels = torch.rand(n)
        labels = labels.unsqueeze(1).float()
        outputs = nn.Linear(3, 1)(torch.rand(n, 3)).squeeze()
        error = ((outputs - labels) ** 2).mean()
    """,
    "toy regression": """
        x = torch.linspace(-1, 1, n).view(-1, 1)
        y = torch.sin(x)
        pred = nn.Linear(1, 1)(x).squeeze()
        loss = ((pred - y) ** 2).mean()
    """,
    "accuracy with labels unsqueezed": """
        labels = torch.zeros(n)
        labels = labels[:, None]
        acc = (torch.rand(n, 3).argmax(1) == labels).float().mean()
    """,
    "nn.Unflatten at the end": "nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (5, 1)))(torch.rand(n)) - torch.rand(n)",
    "squeezed in place": """
        y = torch.rand(n, 1)
        pred = torch.rand(n, 1)
        pred.squeeze_()
        (pred - y).pow(2).mean()
    """,
    "changed in place": """
        pred = torch.rand(n, 1)
        pred.mul_(2).add_(1)
        pred - torch.rand(n)
    """,
    "accumulated in place": """
        total = torch.zeros(n, n)
        total += torch.rand(n, 1) - torch.rand(n)
    """,
    "a column slice": "data = torch.rand(n, 4); data[:, :1] - data[:, 1] * 0 - torch.rand(n)",
    "two columns of one table": "data = torch.rand(n, 4); data[:, :1] - data[:, 1]",
    "a gathered column": "torch.rand(n, 4).gather(1, torch.zeros(n, 1, dtype=torch.long)).log() * torch.rand(n)",
    "stacked column": "torch.stack([torch.rand(1) for _ in range(n)]) - torch.rand(n)",
    "from numpy": "torch.from_numpy(np.random.rand(n, 1)) - torch.from_numpy(np.random.rand(n))",
    "under no_grad": """
        with torch.no_grad():
            err = nn.Linear(3, 1)(torch.rand(n, 3)) - torch.rand(n)
    """,
    "inference mode": """
        with torch.inference_mode():
            err = nn.Linear(3, 1)(torch.rand(n, 3)) - torch.rand(n)
    """,
    "allclose in a test": "torch.allclose(torch.ones(n, 1), torch.ones(n))",
    "isclose": "torch.isclose(torch.ones(n, 1), torch.ones(n)).all()",
    "lerp": "torch.lerp(torch.rand(n, 1), torch.rand(n), 0.5)",
    "addcmul": "torch.addcmul(torch.rand(n), torch.rand(n, 1), torch.rand(n))",
    "atan2": "torch.atan2(torch.rand(n, 1), torch.rand(n))",
    "logical and": "torch.ones(n, 1).bool() & torch.ones(n).bool()",
    "log_prob of a normal": "torch.distributions.Normal(torch.zeros(n, 1), 1.0).log_prob(torch.rand(n))",
    "log_prob of a categorical": """
        torch.distributions.Categorical(logits=torch.rand(n, 3)).log_prob(torch.zeros(n, 1, dtype=torch.long))
    """,
    "parameters of a distribution": "torch.distributions.Normal(torch.zeros(n, 1), torch.ones(n))",
    "a user's own loss": """
        def rmse(pred, target):
            return torch.sqrt(((pred - target) ** 2).mean())
        rmse(nn.Linear(3, 1)(torch.rand(n, 3)), torch.rand(n))
    """,
    "in a lambda": "(lambda p, t: (p - t).abs().mean())(torch.rand(n, 1), torch.rand(n))",
    "in a comprehension": "[p - t for p, t in [(torch.rand(n, 1), torch.rand(n))]]",
    "float16": "torch.rand(n, 1).half() - torch.rand(n).half()",
    "R squared": "ss = ((torch.rand(n, 1) - torch.rand(n)) ** 2).sum()",
    "a prediction of one forward in another's": """
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 1)
            def forward(self, x, y):
                return (self.inner(x) - 1) * y
        y = torch.rand(n, 1).view(-1)
        Outer()(torch.rand(n, 4), y)
    """,
    "a parameter with data": """
        w = nn.Parameter(torch.rand(4, 1))
        prediction = torch.rand(n, 4) @ w
        prediction - torch.rand(n)
    """,
    "a scaled column": "torch.rand(n, 1) * torch.rand(1) - torch.rand(n)",
}

TORCH_CORRECT: dict[str, str] = {
    "sinusoidal positions": """
        pos = torch.arange(16).unsqueeze(1)
        pe = pos * torch.exp(torch.arange(0, 8, 2) * -0.5)
    """,
    "positions as many as frequencies": """
        pos = torch.arange(0, 4, dtype=torch.float).unsqueeze(1)
        pe = torch.sin(pos * torch.exp(torch.arange(0, 8, 2).float() * -0.5))
    """,
    "positions by hand": """
        pos = torch.rand(4, 1)
        angle = pos * torch.exp(torch.arange(4) * -0.5)
    """,
    "attention mask": "torch.rand(4, 8, 16, 16) + torch.zeros(4, 1, 1, 16)",
    "causal and padding masks": """
        causal = torch.ones(4, 4).tril().bool().view(1, 1, 4, 4)
        padding = torch.ones(4, 4).bool()[:, None, None, :]
        both = causal & padding
    """,
    "masks that somebody else made": "torch.ones(1, 1, 4, 4).bool() & torch.ones(4, 1, 1, 4).bool()",
    "additive masks": "torch.zeros(1, 1, 4, 4) + torch.zeros(4, 1, 1, 4)",
    "equal shapes": "F.mse_loss(torch.rand(n, 1), torch.rand(n, 1))",
    "cross entropy": "F.cross_entropy(torch.randn(n, 5), torch.randint(0, 5, (n,)))",
    "bias": "torch.rand(n, m) + torch.rand(m)",
    "standardise": "x = torch.rand(n, n); (x - x.mean(0)) / x.std(0)",
    "standardise rows": "x = torch.rand(n, n); (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)",
    "scalar tensor": "torch.rand(n, 1) - torch.tensor(2.0)",
    "one element": "torch.rand(n, 1) - torch.rand(1)",
    "batch of one": "torch.rand(1, 1) - torch.rand(1)",
    "pairwise distances": """
        x, y = torch.rand(n, 3), torch.rand(m, 3)
        d = ((x[:, None] - y[None]) ** 2).sum(-1)
    """,
    "pairwise distances of equals": """
        x, y = torch.rand(n, 3), torch.rand(n, 3)
        d = ((x[:, None] - y) ** 2).sum(-1)
    """,
    "differences in one dimension": "x = torch.rand(n); x[:, None] - x",
    "differences of two vectors": "torch.rand(n)[:, None] - torch.rand(n)",
    "differences, unsqueezed before": """
        a = torch.rand(n).unsqueeze(1)
        b = torch.rand(n)
        d = a - b
    """,
    "unsqueezed and cast": "torch.arange(n).unsqueeze(1).float() - torch.rand(n)",
    "reshaped in the statement": "torch.rand(n).reshape(-1, 1) * torch.rand(n)",
    "viewed on the line before": """
        a = torch.rand(n).view(-1, 1)
        outer = a * torch.rand(n)
    """,
    "column minus its own transpose": "s = torch.rand(n, 1); s - s.T",
    "column against itself, squeezed": "s = torch.rand(n, 1); s - s.squeeze(1); s.flatten() * s",
    "another column's transpose": "torch.rand(n, 1) - torch.rand(n, 1).T",
    "supervised contrastive mask": """
        labels = torch.zeros(n).contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
    """,
    "same labels": "labels = torch.zeros(n); labels.unsqueeze(0) == labels.unsqueeze(1)",
    "same labels, one side": "labels = torch.zeros(n); labels == labels.unsqueeze(1)",
    "query and gallery labels": "torch.zeros(n)[:, None] == torch.zeros(n)",
    "causal mask of positions": "i = torch.arange(n); i[:, None] >= i",
    "lengths mask": "torch.arange(n) < torch.randint(1, 5, (n, 1))",
    "lengths mask, unsqueezed": "torch.arange(n)[None] < torch.randint(1, 5, (n,))[:, None]",
    "one-hot by comparison": "torch.arange(n) == torch.randint(0, 5, (n, 1))",
    "distance by norms": """
        x, y = torch.rand(n, 3), torch.rand(n, 3)
        d2 = x.pow(2).sum(1, keepdim=True) + y.pow(2).sum(1) - 2 * x @ y.T
    """,
    "distance by norms, positional keepdim": """
        x, y = torch.rand(n, 3), torch.rand(n, 3)
        d2 = x.pow(2).sum(1, True) + y.pow(2).sum(1, True).t() - 2 * x @ y.t()
    """,
    "softmax by hand": "x = torch.rand(n, n); e = (x - x.max(1, keepdim=True)[0]).exp(); e / e.sum(1, keepdim=True)",
    "MNIST example": """
        pred = torch.rand(n, 3).argmax(dim=1, keepdim=True)
        target = torch.zeros(n, dtype=torch.long)
        pred.eq(target.view_as(pred)).sum()
    """,
    "accuracy": "(torch.rand(n, 3).argmax(1) == torch.zeros(n, dtype=torch.long)).float().mean()",
    "topk accuracy": """
        output, target = torch.rand(n, 7), torch.zeros(n, dtype=torch.long)
        _, pred = output.topk(5, 1)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    """,
    "topk accuracy by broadcasting": """
        _, pred = torch.rand(n, 7).topk(n, 1)
        correct = pred.eq(torch.zeros(n, dtype=torch.long).view(-1, 1))
    """,
    "channel and spatial attention": "torch.rand(2, 8, 1, 1) + torch.rand(2, 1, 6, 6)",
    "squeeze and excite": "torch.rand(2, 8, 6, 6) * torch.rand(2, 8, 1, 1)",
    "token and position": "torch.rand(4, 1, 8) + torch.rand(1, 6, 8)",
    "graph attention": """
        h = torch.rand(2, n, 4)
        e = nn.Linear(4, 1)(h) + nn.Linear(4, 1)(h).transpose(1, 2)
    """,
    "learned row and gate": """
        gate = torch.sigmoid(nn.Linear(3, 1)(torch.rand(n, 3)))
        out = gate * nn.Parameter(torch.rand(1, 8))
    """,
    "numeric embedding": "torch.rand(5, 1) * nn.Parameter(torch.rand(5)) + nn.Parameter(torch.rand(5))",
    "Fourier features in a buffer": """
        class Fourier(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("freqs", torch.randn(1, 8))
            def forward(self, t):
                return torch.sin(t * self.freqs)
        Fourier()(torch.rand(n, 1))
    """,
    "column times vector of another size": "torch.rand(16, 1) * torch.rand(4)",
    "radial basis": "torch.exp(-(torch.rand(n, 1) - torch.linspace(0, 1, 9)) ** 2)",
    "rotary": """
        t = torch.arange(6).float()
        freqs = torch.einsum("i,j->ij", t, torch.rand(4))
        torch.rand(2, 3, 6, 4) * freqs.cos()[None, None]
    """,
    "relative positions": "i = torch.arange(4); (i[None, :] - i[:, None]).clamp(-3, 3)",
    "swin relative coordinates": """
        coords = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(3), indexing="ij")).flatten(1)
        relative = coords[:, :, None] - coords[:, None, :]
    """,
    "quantile huber loss": """
        q, target = torch.rand(4, 8), torch.rand(4, 8)
        F.smooth_l1_loss(q.unsqueeze(2), target.unsqueeze(1), reduction="none")
    """,
    "pairwise loss in one statement": "F.l1_loss(torch.rand(n).unsqueeze(1), torch.rand(n), reduction='none')",
    "expanded": "torch.rand(n, 1).expand(n, n) - torch.rand(n)",
    "expand one side": "torch.rand(n, 1).expand(-1, 1) - torch.rand(n)",
    "outer": "torch.outer(torch.rand(n), torch.rand(n)) - torch.rand(n)",
    "column from a helper": """
        def column(x):
            return x[:, None]
        column(torch.rand(n)) - torch.rand(n)
    """,
    "einops": "einops.rearrange(torch.rand(n), 'n -> n 1') - torch.rand(n)",
    "allowed": """
        with allow_broadcast("every pair is meant"):
            torch.rand(n, 1) - torch.rand(n)
    """,
    "decorated": """
        @allow_broadcast()
        def pairs(a, b):
            return a - b
        pairs(torch.rand(n, 1), torch.rand(n))
    """,
    "a mask passed down": """
        class Attention(nn.Module):
            def forward(self, x, mask):
                return torch.ones(5, 5).tril().bool() & mask, torch.ones(5, 5) * mask
        class Block(nn.Module):
            def forward(self, x):
                mask = torch.ones(5, 5).bool().unsqueeze(1)
                return Attention()(x, mask)
        Block()(torch.rand(5, 5))
    """,
    "rebound on both sides": """
        a, b = torch.rand(n), torch.rand(n)
        a = a.unsqueeze(1)
        b = b.unsqueeze(0)
        d = a - b
    """,
    "rebound data against data": """
        a, b = torch.rand(n), torch.rand(n)
        a = a.unsqueeze(1)
        d = a - b
    """,
    "box overlap": """
        a, b = torch.rand(5, 4), torch.rand(5, 4)
        top, bottom = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
        overlap = (bottom - top).clamp(min=0).prod(2)
        area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
        union = area[:, None] + area - overlap
    """,
    "refused by torch": """
        for bad in (lambda: F.binary_cross_entropy(torch.rand(n, 1), torch.rand(n)),
                    lambda: torch.rand(n, 1).sub_(torch.rand(n)),
                    lambda: nn.SoftMarginLoss()(torch.rand(n, 1), torch.rand(n))):
            try:
                bad()
            except (ValueError, RuntimeError):
                continue
            raise SystemExit("torch has changed its mind")
    """,
    "rank-one update": "acc = torch.zeros(n, n); acc.addcmul_(torch.rand(n, 1), torch.rand(n))",
    "leaf weights": "x = torch.rand(5, 1); w = torch.rand(5, requires_grad=True); (x * w).sum().backward()",
    "sinkhorn": """
        cost, u, v = torch.rand(n, n), torch.zeros(n, 1), torch.zeros(1, n)
        for _ in range(2):
            u = -torch.logsumexp(-cost + v, dim=1, keepdim=True)
            v = -torch.logsumexp(-cost + u, dim=0, keepdim=True)
        plan = torch.exp(u + v - cost)
    """,
    "empty": "torch.rand(0, 1) - torch.rand(0)",
    "a failing broadcast stays torch's error": """
        try:
            torch.rand(4, 1, 3) - torch.rand(5, 2)
        except RuntimeError:
            pass
    """,
    "where with equal shapes": "torch.where(torch.rand(n) > 0.5, torch.rand(n), 0.0)",
    "where with a broadcast mask": "torch.where(torch.rand(n, 1) > 0.5, torch.rand(n, 4), torch.zeros(4))",
    "masked_fill of attention": "torch.rand(2, 3, n, n).masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))",
    "matmul is not elementwise": "torch.rand(n, 1) @ torch.rand(1, n)",
    "batched matmul": "torch.rand(2, 1, 3, 4) @ torch.rand(5, 4, 3)",
    "training": """
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(2):
            loss = F.mse_loss(model(torch.rand(5, 4)).squeeze(-1), torch.rand(5))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "optimizers": """
        w = nn.Linear(5, 5)
        for kind in (torch.optim.SGD, torch.optim.Adafactor, torch.optim.NAdam, torch.optim.LBFGS, torch.optim.Muon
                     if hasattr(torch.optim, "Muon") else torch.optim.SGD):
            parameters = [w.weight] if kind.__name__ == "Muon" else w.parameters()
            optimizer = kind(parameters, lr=0.1)
            def closure():
                optimizer.zero_grad()
                loss = w(torch.rand(5, 5)).pow(2).mean()
                loss.backward()
                return loss
            optimizer.step(closure)
    """,
    "distributions": """
        D = torch.distributions
        D.Normal(torch.zeros(n, 1), 1.0).log_prob(torch.rand(n, 1))
        D.Normal(torch.zeros(n), 1.0).log_prob(torch.rand(n)[:, None])
        D.MultivariateNormal(torch.zeros(3), torch.eye(3)).log_prob(torch.rand(3, 3))
        D.Categorical(logits=torch.rand(n, 4)).log_prob(torch.zeros(n, dtype=torch.long))
        D.MixtureSameFamily(D.Categorical(torch.ones(n)), D.Normal(torch.rand(n), torch.rand(n))).log_prob(torch.rand(n))
        D.kl_divergence(D.Normal(torch.rand(n, 1), 1.0), D.Normal(torch.rand(n, 1), 2.0))
        D.LKJCholesky(3).sample()
    """,
    "layers": """
        nn.MultiheadAttention(4, 2)(torch.rand(5, 5, 4), torch.rand(5, 5, 4), torch.rand(5, 5, 4))
        nn.TransformerEncoderLayer(4, 2, 8)(torch.rand(5, 5, 4))
        nn.GRU(4, 5)(torch.rand(5, 5, 4))
        nn.Bilinear(5, 5, 1)(torch.rand(5, 5), torch.rand(5, 5))
        nn.CosineSimilarity()(torch.rand(5, 5), torch.rand(5, 5))
        nn.TripletMarginLoss()(torch.rand(5, 5), torch.rand(5, 5), torch.rand(5, 5))
        nn.CosineEmbeddingLoss()(torch.rand(5, 5), torch.rand(5, 5), torch.ones(5))
        nn.MarginRankingLoss()(torch.rand(5), torch.rand(5), torch.ones(5))
        nn.GaussianNLLLoss()(torch.rand(5, 5), torch.rand(5, 5), torch.rand(5, 1))
    """,
    "vmap and functional gradients": """
        torch.func.vmap(lambda a, b: a * b)(torch.rand(5, 5), torch.rand(5, 5))
        b = torch.rand(5)
        torch.func.vmap(lambda a: a - b)(torch.rand(5, 5))
        torch.func.jacrev(lambda a: a ** 2)(torch.rand(5))
        torch.func.hessian(lambda a: (a ** 3).sum())(torch.rand(5))
    """,
    "the support of a distribution (pyro)": """
        D = torch.distributions
        for d in (D.Categorical(logits=torch.rand(n, n)), D.Categorical(logits=torch.rand(3, n, 4))):
            d.log_prob(d.enumerate_support(expand=False))
            d.log_prob(d.enumerate_support())
        coins = D.Bernoulli(torch.rand(2))
        values = coins.enumerate_support(expand=False)
        coins.log_prob(values)
        coins.log_prob(values.to(torch.float64))
        values * torch.rand(2)
        D.Binomial(n - 1, torch.rand(n)).log_prob(D.Binomial(n - 1, torch.rand(n)).enumerate_support(expand=False))
    """,
    "scales made of parameters (gpytorch)": """
        class Kernel(nn.Module):
            def __init__(self):
                super().__init__()
                self.raw_lengthscale = nn.Parameter(torch.zeros(3, 1, 2))
                self.log_noise = nn.Parameter(torch.zeros(n, 1))
            @property
            def lengthscale(self):
                return F.softplus(self.raw_lengthscale)
            def forward(self, x):
                x.div(self.lengthscale)
                return x * (F.softplus(self.raw_lengthscale) + 1e-3).sqrt()
        kernel = Kernel()
        kernel(torch.rand(3, 2))
        torch.rand(n) / kernel.log_noise.exp()
        torch.rand(n) - kernel.log_noise.exp().clamp(min=1e-6)
    """,
    "a flow's weights (pyro's planar)": """
        w, u, bias = nn.Parameter(torch.rand(1, 2)), nn.Parameter(torch.rand(1, 2)), nn.Parameter(torch.rand(1))
        alpha = torch.matmul(u.unsqueeze(-2), w.unsqueeze(-1)).squeeze(-1)
        u_hat = u + (F.softplus(alpha) - 1 - alpha) * w.div(w.pow(2).sum(dim=-1, keepdim=True))
        x = torch.rand(3, 2)
        act = torch.tanh(torch.matmul(w.unsqueeze(-2), x.unsqueeze(-1)).squeeze(-1) + bias)
        y = x + u_hat * act
        psi_z = (1.0 - act.pow(2)) * w
    """,
    "a table of quantiles in a forward (torch_geometric)": """
        class Quantiles(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("q", torch.rand(n).view(-1, 1))
            def forward(self, index):
                count = torch.bincount(index, minlength=n)
                return self.q * (count - 1)
        Quantiles()(torch.arange(n))
    """,
    "both signs of a number (pyro's folded)": """
        signs = torch.rand(1).new_tensor([1.0, -1.0]).reshape(2, 1, 1)
        base = torch.distributions.Normal(torch.zeros(2, 1), 1.0)
        base.log_prob(signs * torch.rand(1)).logsumexp(0)
        torch.rand(2) - torch.rand(2)[:, None] * torch.rand(1)
    """,
}

NUMPY_BUGS: dict[str, str] = {
    "filter state (QuantEcon 81)": """
        x, x_hat = np.zeros(2), np.array([[8.0], [8.0]])
        error = np.sum((x - x_hat) ** 2)
    """,
    "mask (PuzzleBoard 2)": "mask = np.random.rand(10, 1) > 0.5; mask * np.random.rand(10)",
    "residuals (py-earth 182)": """
        y, y_hat = np.random.rand(30, 1), np.random.rand(30)
        residual = 1 - (y - y_hat) ** 2 / y ** 2
    """,
    "policy loss (acme 277)": "coeff = np.exp(np.random.randn(16, 1)); -np.mean(np.random.randn(16) * coeff)",
    "metric (oxonfair 39)": "np.random.randint(0, 2, (402, 1)) * np.random.randint(0, 2, 402)",
    "column of predictions (EconML 420)": """
        y_pred, effect = np.random.rand(100, 2), np.random.rand(100, 1)
        score = np.mean((y_pred[:, 1] - effect) ** 2)
    """,
    "two columns of one table": "data = np.random.rand(n, 4); data[:, :1] - data[:, 1]",
    "np.subtract": "np.subtract(np.ones((n, 1)), np.ones(n))",
    "np.where": "np.where(np.ones((n, 1)) > 0, np.ones(n), 0.0)",
    "allclose": "np.allclose(np.ones((n, 1)), np.ones(n))",
    "accuracy": "(np.random.rand(n, 3).argmax(axis=1) == np.zeros((n, 1))).mean()",
    "generator": "rng = np.random.default_rng(0); rng.random((n, 1)) - rng.random(n)",
    "after concatenate": "np.concatenate([np.ones((2, 1)), np.ones((3, 1))]) - np.ones(5)",
    "after where": "np.where(np.ones((n, 1)) > 0, 1.0, 0.0) - np.ones(n)",
    "after linalg": "np.linalg.norm(np.ones((n, 3)), axis=1) - np.ones((n, 1))",
    "after a method": "np.ones((n, 1)).astype('float32').copy() - np.ones(n)",
    "row meets column": "np.random.randn(1, 5) - np.random.randn(4, 1)",
}

NUMPY_CORRECT: dict[str, str] = {
    "pairwise": "x, y = np.random.rand(5, 3), np.random.rand(7, 3); ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)",
    "grid": "r = np.arange(5)[:, None]; c = np.arange(7)[None, :]; r * 10 + c",
    "standardise": "x = np.random.rand(5, 5); (x - x.mean(axis=0)) / x.std(axis=0)",
    "keepdims": "x = np.random.rand(5, 5); x - x.mean(axis=1, keepdims=True)",
    "frequencies": "np.arange(1, 9).reshape(-1, 1) * np.linspace(0, 1, 50)",
    "reshaped": "np.random.rand(n).reshape(-1, 1) - np.random.rand(n)",
    "distance by norms": """
        x, y = np.random.rand(n, 3), np.random.rand(n, 3)
        np.sum(x**2, axis=1, keepdims=True) + np.sum(y**2, axis=1) - 2 * x @ y.T
    """,
    "own transpose": "s = np.random.rand(n, 1); s - s.T",
    "itself": "x = np.random.rand(n); x[:, np.newaxis] - x",
    "itself, raveled": "s = np.random.rand(n, 1); s - s.ravel()",
    "expand_dims": "np.expand_dims(np.random.rand(n), 1) - np.random.rand(n)",
    "outer": "np.subtract.outer(np.random.rand(n), np.random.rand(n)) - np.random.rand(n)",
    "ix_": "a, b = np.ix_(np.arange(n), np.arange(n)); a + b",
    "meshgrid": "a, b = np.meshgrid(np.arange(n), np.arange(n), sparse=True); a + b",
    "ogrid": "a, b = np.ogrid[0:5, 0:5]; a + b",
    "scalars": "np.random.rand(n, 1) - 2; np.random.rand(n, 1) - np.float64(2); np.random.rand(n, 1) - np.array(2)",
    "one column": "np.random.rand(n, 1) - np.random.rand(1)",
    "matmul": "np.random.rand(n, 1) @ np.random.rand(1, n)",
    "covariance": "np.cov(np.random.rand(n, n)); np.corrcoef(np.random.rand(n, n)); np.linalg.inv(np.eye(n) * 2)",
    "allowed": """
        with allow_broadcast():
            np.random.rand(n, 1) - np.random.rand(n)
    """,
    "printing and sorting": "x = np.random.rand(n, 1); str(x); repr(x); np.sort(x, axis=0); x.tolist(); x == x",
}

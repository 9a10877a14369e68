"""More programs for the broadcast guard, written after its rules were settled.

They were not used to tune the rules, with one exception: the look-alike "soft hist viewed" was accused at first, and a
rule was changed for it. As `broadcast_programs`: what people write in reinforcement learning, metrics, attention, mixtures, kernels.
"""

from __future__ import annotations

TORCH_BUGS: dict[str, str] = {
    "actor critic": """
        class AC(nn.Module):

            def __init__(self):
                super().__init__()
                self.b = nn.Linear(4, 8)
                self.pi = nn.Linear(8, 2)
                self.v = nn.Linear(8, 1)

            def forward(self, x):
                h = self.b(x).relu()
                return (torch.distributions.Categorical(logits=self.pi(h)), self.v(h))
        ac = AC()
        obs = torch.rand(n, 4)
        d, v = ac(obs)
        a = d.sample()
        ret = torch.rand(n)
        adv = ret - v.detach()
        loss = -(d.log_prob(a) * adv).mean()
    """,
    "vae kl weights": """
        mu = torch.rand(n, 3)
        kl = (mu ** 2).sum(1)
        w = torch.rand(n, 1)
        (kl * w).mean()
    """,
    "epoch loop accuracy": """
        correct = 0
        for xb, yb in DataLoader(TensorDataset(torch.rand(10, 3), torch.randint(0, 2, (10, 1)).float()), batch_size=5):
            out = nn.Linear(3, 1)(xb).squeeze(1)
            pred = (torch.sigmoid(out) > 0.5).float()
            correct += (pred == yb).sum().item()
    """,
    "r2": """
        y = torch.rand(n, 1)
        p = torch.rand(n)
        1 - ((y - p) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    """,
    "double q": """
        q = nn.Linear(4, 2)
        s = torch.rand(n, 4)
        a = torch.randint(0, 2, (n, 1))
        r = torch.rand(n, 1)
        done = torch.zeros(n)
        qsa = q(s).gather(1, a)
        target = r + 0.99 * q(s).max(1)[0] * (1 - done)
        F.smooth_l1_loss(qsa, target)
    """,
    "mape": """
        t = torch.rand(n) + 1
        p = nn.Linear(2, 1)(torch.rand(n, 2))
        ((t - p).abs() / t).mean()
    """,
    "lstm regression": """
        lstm = nn.LSTM(3, 8, batch_first=True)
        fc = nn.Linear(8, 1)
        o, _ = lstm(torch.rand(n, 6, 3))
        p = fc(o[:, -1])
        y = torch.rand(n)
        crit = nn.L1Loss()
        loss = crit(p, y)
    """,
    "sample weight": """
        w = torch.rand(n)
        l = F.mse_loss(torch.rand(n, 1), torch.rand(n, 1), reduction='none')
        (l * w).mean()
    """,
    "manual gd": """
        w = torch.randn(3, 1, requires_grad=True)
        X = torch.rand(n, 3)
        y = torch.rand(n)
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
    """,
    "t from numpy": """
        y = torch.tensor(np.random.rand(n))
        p = torch.tensor(np.random.rand(n, 1))
        torch.mean(torch.abs(p - y))
    """,
    "bce by hand": """
        p = torch.sigmoid(nn.Linear(2, 1)(torch.rand(n, 2)))
        y = torch.ones(n)
        -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
    """,
    "channel mask": """
        img = torch.rand(4, 1, 8, 8)
        m = torch.ones(4, 8, 8)
        (img * m).sum()
    """,
    "huber module": """
        nn.HuberLoss()(nn.Linear(2, 1)(torch.rand(n, 2)), torch.rand(n))
    """,
    "where advantage": """
        adv = torch.rand(n, 1)
        r = torch.rand(n)
        torch.where(adv > 0, r, -r)
    """,
    "temporal diff": """
        x = torch.rand(6, 1)
        t = torch.linspace(0, 1, 6)
        v = x - t
    """,
    "dice": """
        p = torch.rand(2, 1, 4, 4)
        t = torch.rand(2, 4, 4)
        2 * (p * t).sum() / (p.sum() + t.sum())
    """,
    "gradient penalty": """
        x = torch.rand(n, 3, requires_grad=True)
        d = nn.Linear(3, 1)(x)
        g, = torch.autograd.grad(d.sum(), x, create_graph=True)
        gp = g.norm(2, dim=1) - d
    """,
    "ranking acc": """
        s = torch.rand(n, 1)
        y = torch.rand(n)
        ((s > 0.5) == (y > 0.5)).float().mean()
    """,
    "minimum clip": """
        torch.min(torch.rand(n, 1), torch.rand(n))
    """,
    "rsub of": """
        torch.rand(n).__rsub__(torch.rand(n, 1))
    """,
    "inplace after reshape": """
        p = torch.rand(n, 1)
        p.clamp_(0, 1)
        t = torch.rand(n)
        e = p.log().mul(t)
    """,
    "functional nll": """
        mu = nn.Linear(2, 1)(torch.rand(n, 2))
        ls = torch.zeros(n)
        nll = 0.5 * ((torch.rand(n, 1) - mu) / ls.exp()) ** 2
    """,
}

TORCH_CORRECT: dict[str, str] = {
    "detr": """
        c = torch.cdist(torch.rand(n, 4), torch.rand(n, 4), p=1)
        cls = torch.rand(n, 3)[:, torch.zeros(n).long()]
        c - cls
    """,
    "label smoothing": """
        o = torch.rand(n, 3).log_softmax(1)
        t = torch.zeros(n).long()
        l = -o.gather(1, t.unsqueeze(1)).squeeze(1)
        s = -o.mean(1)
        0.9 * l + 0.1 * s
    """,
    "focal": """
        p = torch.rand(n, 3)
        t = F.one_hot(torch.zeros(n).long(), 3).float()
        (p * t - (1 - p) * (1 - t)).mean()
    """,
    "gaussian kernel": """
        x = torch.arange(5) - 2.0
        g = torch.exp(-x ** 2 / 2)
        k = g[:, None] * g[None, :]
        k2 = g.unsqueeze(1) @ g.unsqueeze(0)
        k3 = torch.outer(g, g)
    """,
    "gaussian kernel 1sided": """
        g = torch.rand(5)
        k = g.view(-1, 1) * g
        k = g.view(5, 1) * g.view(1, 5)
    """,
    "alibi": """
        s = torch.rand(4).view(4, 1, 1)
        p = torch.arange(4).view(1, 1, 4)
        s * p
    """,
    "mixup": """
        lam = torch.rand(n, 1, 1, 1)
        x = torch.rand(n, 3, 4, 4)
        lam * x + (1 - lam) * x[torch.randperm(n)]
    """,
    "mixup labels": """
        lam = torch.rand(n, 1)
        y = torch.rand(n, 3)
        lam * y + (1 - lam) * y
    """,
    "film": """
        g = nn.Linear(3, 5)(torch.rand(n, 3))
        x = torch.rand(n, 5, 4, 4)
        g[:, :, None, None] * x
    """,
    "norm": """
        x = torch.rand(n, 5)
        x / x.norm(dim=1, keepdim=True)
        F.normalize(x)
        (x - x.min()) / (x.max() - x.min())
    """,
    "cosine matrix": """
        x = torch.rand(n, 5)
        a = x.norm(dim=1)
        s = x @ x.t() / (a.unsqueeze(1) * a.unsqueeze(0))
        s2 = x @ x.t() / (a[:, None] * a)
    """,
    "nt xent": """
        z = torch.rand(n, 5)
        sim = z @ z.t()
        m = torch.eye(n).bool()
        sim.masked_fill(m, -1000000000.0)
        l = torch.arange(n)
        (sim.argmax(1) == l).float().mean()
    """,
    "triplet mine": """
        l = torch.zeros(n)
        a = l.unsqueeze(0) == l.unsqueeze(1)
        i = ~torch.eye(n).bool()
        a & i
        a.unsqueeze(2) & (~a).unsqueeze(1)
    """,
    "timestep emb": """
        t = torch.randint(0, 10, (n,))
        half = n
        freqs = torch.exp(-torch.arange(half).float() / half)
        args = t[:, None].float() * freqs[None]
        args2 = t[:, None].float() * freqs
        args3 = t.float().unsqueeze(1) * freqs
    """,
    "ddpm coef": """
        a = torch.rand(10)[torch.randint(0, 10, (n,))].view(-1, 1, 1, 1)
        a * torch.rand(n, 3, 4, 4)
    """,
    "beam": """
        s = torch.rand(n, 1)
        lp = torch.rand(n, 7)
        (s + lp).view(-1).topk(3)
    """,
    "gmm": """
        x = torch.rand(n, 2)
        mu = torch.rand(3, 2)
        d = ((x.unsqueeze(1) - mu) ** 2).sum(2)
        d2 = ((x[:, None] - mu[None]) ** 2).sum(-1)
    """,
    "soft argmax": """
        h = torch.rand(n, 8).softmax(1)
        (h * torch.arange(8)).sum(1)
        g = torch.arange(8.0)
        (h * g).sum(1, keepdim=True)
    """,
    "grid sample": """
        y, x = torch.meshgrid(torch.arange(4), torch.arange(4), indexing='ij')
        torch.stack([x, y], -1)[None]
    """,
    "coordconv": """
        h = torch.linspace(-1, 1, 4).view(1, 1, 4, 1)
        w = torch.linspace(-1, 1, 4).view(1, 1, 1, 4)
        h * w
        h.expand(2, 1, 4, 4)
    """,
    "hann 2d": """
        w = torch.hann_window(5)
        w.unsqueeze(1) * w.unsqueeze(0)
        w2 = w[:, None] * w
    """,
    "polyfit": """
        x = torch.rand(n)
        V = x[:, None] ** torch.arange(5)
        c = torch.linalg.lstsq(V, torch.rand(n, 1)).solution
        V @ c
    """,
    "ema": """
        d = 0.9 ** torch.arange(n)
        x = torch.rand(n)
        (d[:, None] / d[None]).tril()
    """,
    "discount mat": """
        i = torch.arange(n)
        D = 0.99 ** (i[None] - i[:, None]).float()
        torch.triu(D)
    """,
    "crps": """
        s = torch.rand(n, 5)
        o = torch.rand(n)
        (s - o.unsqueeze(1)).abs().mean() - 0.5 * (s.unsqueeze(2) - s.unsqueeze(1)).abs().mean()
    """,
    "sdf box": """
        p = torch.rand(n, 3)
        b = torch.rand(3)
        (p.abs() - b).clamp(min=0).norm(dim=1)
    """,
    "mmd": """
        x = torch.rand(n, 1)
        y = torch.rand(n, 1)
        ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(2)
        (x - y.t()) ** 2
    """,
    "quantile loss": """
        q = torch.tensor([0.1, 0.5, 0.9])
        p = torch.rand(n, 3)
        y = torch.rand(n, 1)
        e = y - p
        torch.max((q - 1) * e, q * e).mean()
    """,
    "pinball square": """
        q = torch.linspace(0.1, 0.9, 5)
        p = torch.rand(5, 5)
        y = torch.rand(5)
        e = y.unsqueeze(1) - p
        torch.max((q - 1) * e, q * e)
    """,
    "qr dqn": """
        th = torch.rand(n, 5)
        T = torch.rand(n, 5)
        u = T.unsqueeze(1) - th.unsqueeze(2)
        tau = torch.linspace(0, 1, 5)
        (tau.view(1, -1, 1) - (u < 0).float()).abs() * F.smooth_l1_loss(T.unsqueeze(1).expand(-1, 5, -1), th.unsqueeze(2).expand(-1, -1, 5), reduction='none')
    """,
    "qr dqn warn": """
        th = torch.rand(n, 5)
        T = torch.rand(n, 5)
        F.huber_loss(T.unsqueeze(1), th.unsqueeze(2), reduction='none')
    """,
    "pos in module": """
        class P(nn.Module):

            def __init__(self, d=4, L=4):
                super().__init__()
                pos = torch.arange(L).unsqueeze(1).float()
                div = torch.exp(torch.arange(0, d * 2, 2).float() * -0.1)
                self.register_buffer('pe', torch.cat([torch.sin(pos * div), torch.cos(pos * div)], 1))
                self.register_buffer('pos', torch.arange(L).float().unsqueeze(1))
                self.register_buffer('div', div)

            def forward(self, x):
                return x + self.pe[:x.size(1)] + torch.cat([self.pos * self.div] * 2, 1)
        P()(torch.rand(2, 4, 8))
    """,
    "soft hist": """
        x = torch.rand(n)
        c = torch.linspace(0, 1, 5)
        (x.unsqueeze(1) - c).abs()
        (x.unsqueeze(0) - c.unsqueeze(1)).abs()
    """,
    "soft hist viewed": """
        x = torch.sigmoid(nn.Linear(3, 1)(torch.rand(n, 3))).squeeze(1)
        c = torch.linspace(0, 1, n).view(-1, 1)
        (x - c).abs()
    """,
    "kmeans": """
        X = torch.rand(n, 2)
        C = X[torch.randperm(n)[:n]]
        d = (X[:, None] - C[None]).pow(2).sum(-1)
        a = d.argmin(1)
        oh = (a[:, None] == torch.arange(n)).float()
        oh.t() @ X / oh.sum(0)[:, None]
    """,
    "confusion": """
        p = torch.zeros(n).long()
        t = torch.zeros(n).long()
        k = torch.arange(5)
        (p[None] == k[:, None]).float() @ (t[:, None] == k).float()
    """,
    "ranking loss": """
        s = torch.rand(n, 1)
        y = torch.rand(n, 1)
        (s - s.t()) * (y - y.t()).sign()
    """,
    "listnet": """
        s = torch.rand(n)
        y = torch.rand(n)
        d = s.unsqueeze(1) - s
        e = y.unsqueeze(1) > y
        F.softplus(-d)[e]
    """,
    "attention mask chain": """
        m = torch.ones(5, 5).bool()
        k = m[:, None, :]
        q = m[:, :, None]
        k & q
        k & q & torch.ones(5, 5).tril().bool()
    """,
    "padded sum": """
        x = torch.rand(n, 6, 3)
        m = torch.rand(n, 6) > 0.5
        (x * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True).clamp(min=1)
    """,
    "lr schedule": """
        torch.tensor([1.0, 2.0]) * 0.1
        torch.rand(n, 1) * torch.rand(1)[0]
    """,
    "weights sum": """
        w = nn.Parameter(torch.rand(5))
        x = torch.rand(5, 1)
        w * x
        w.unsqueeze(1) * x
    """,
    "rms": """
        x = torch.rand(2, 5, 5)
        x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-06) * nn.Parameter(torch.ones(5))
    """,
    "rope": """
        x = torch.rand(2, 5, 5, 4)
        c = torch.rand(5, 4)
        x * c
        x * c[None, None]
        c2 = torch.rand(2, 5, 4).unsqueeze(1)
        x * c2
    """,
    "gumbel": """
        l = torch.rand(n, 3)
        (l + torch.rand_like(l)).softmax(-1)
    """,
    "bmm bias": """
        torch.rand(2, 5, 5) + torch.rand(5)
        torch.baddbmm(torch.rand(2, 1, 5), torch.rand(2, 5, 4), torch.rand(2, 4, 5))
    """,
    "lookahead": """
        torch.rand(n, n).tril() * torch.rand(n)[:, None] * torch.rand(n)[None, :]
    """,
}

# mypy: warn-return-any, warn-redundant-casts, warn-unused-ignores
# What users of --strict see: no more no-any-return, and their own workarounds reported.
from __future__ import annotations

from typing import cast

from torch import Tensor, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

    def casts(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.layer(x))  # E: Redundant cast to "Tensor"  [redundant-cast]

    def unknown(self, m: nn.Module, x: Tensor) -> Tensor:
        return m(x)  # E: Returning Any from function declared to return "Tensor"  [no-any-return]

    def ignores(self, x: Tensor) -> Tensor:
        return self.layer(x)  # type: ignore[no-any-return]  # E: Unused "type: ignore" comment  [unused-ignore]

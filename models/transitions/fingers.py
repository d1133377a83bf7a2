"""Transition of fingers around a block: a graph network on geometry, in the frames of the fingers and of the block.

The three fingers are one finger turned by 120 degrees: they share their weights, and each sees its own frame. The contact of a
finger is given in the block's frame: the position of the tip and its distance from the surface of the box.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.actions import per_slot
from models.layers.columns import Columns, units_of
from models.layers.precision import LatentLinear

NAMES = ("position", "joint_positions", "joint_velocities", "axes", "linear_velocity", "angular_velocity", "size")
_SEEN = 8 * 3 + 3 + 3 + 1 + 1  # of a finger beside joints and action: directions, inside, gap, distance, near
NUMBERS, VECTORS = 64, 12  # the message of a finger to the block: numbers, and vectors that turn with the finger


def perceptron(inputs: int, hidden: int, layers: int) -> nn.Sequential:
    sizes = [inputs, *[hidden] * layers]
    return nn.Sequential(*(
        part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.LayerNorm(b), nn.SiLU())
    ))  # fmt: skip


def small(inputs: int, outputs: int) -> LatentLinear:
    """A last layer whose first predictions are small changes."""
    layer = LatentLinear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.1 * inputs**-0.5)
    nn.init.zeros_(layer.bias)
    return layer


class FingersTransition(nn.Module):
    """latent (B, fingers + 1, D) of TableEncoder, action (B, A)  ->  the next latent; the last slot is the block, a box.

    It reads NAMES and no other column: a mass that the table shows stays in the latent as it is and moves nothing.
    columns: as TableEncoder's, with NAMES among them.  turn: degrees from one finger to the next, about the vertical.
    """

    def __init__(
        self, shape: Sequence[int], columns: Columns, action_size: int, fingers: int = 3, turn: float = -120, hidden: int = 256
    ) -> None:  # fmt: skip
        super().__init__()
        if shape[0] != fingers + 1:
            raise ValueError(f"FingersTransition moves {fingers} fingers and one block, got a table of {shape[0]} rows; "
                             f"set model=modular")  # fmt: skip
        self.fingers = fingers
        self.register_buffer("units", units_of(columns, shape), persistent=False)
        ends = accumulate(len(columns[name]) for name in columns)
        self.columns = {name: slice(end - len(columns[name]), end) for name, end in zip(columns, ends)}
        angles = [math.radians(turn) * number for number in range(fingers)]
        rotations = [[[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]] for a in angles]
        self.register_buffer("frames", torch.tensor(rotations), persistent=False)  # (fingers, 3, 3), own frame -> world
        joints = len(columns["joint_positions"])
        self.finger = perceptron(2 * joints + action_size // fingers + _SEEN, hidden, 3)
        self.finger_out, self.tell = small(hidden, 3 + 2 * joints), LatentLinear(hidden, NUMBERS + 3 * VECTORS)
        self.block = perceptron(NUMBERS + 3 * VECTORS + 14, hidden, 2)
        self.block_out = small(hidden, 12)

    def forward(self, latent: Tensor, action: Tensor) -> Tensor:
        device = latent.device.type
        with torch.autocast(device, enabled=False):  # millimetres among decimetres are lost in bfloat16
            table = latent.float() * self.units
            of_fingers, of_block, axes = self._seen(table, per_slot(action.float(), self.fingers, self.fingers))
        hidden = self.finger(of_fingers)
        change, message = self.finger_out(hidden).float(), self.tell(hidden).float()
        with torch.autocast(device, enabled=False):
            vectors = self._to_world(message[..., NUMBERS:].unflatten(-1, (VECTORS, 3)))
            pushed = torch.einsum("bkni,bij->bnj", vectors, axes).flatten(1)
            received = torch.cat([message[..., :NUMBERS].sum(1), pushed, of_block], -1)
        push = self.block_out(self.block(received)).float()
        with torch.autocast(device, enabled=False):
            return latent + self._change(table, axes, change, push) / self.units

    def _to_fingers(self, vectors: Tensor) -> Tensor:
        """Vectors of the world (B, fingers, 3) in every finger's frame."""
        return torch.einsum("kji,bkj->bki", self.frames, vectors)

    def _to_world(self, vectors: Tensor) -> Tensor:
        """Vectors (B, fingers, n, 3) in the fingers' frames, in that of the world."""
        return torch.einsum("kij,bknj->bkni", self.frames, vectors)

    def _get(self, table: Tensor, name: str) -> Tensor:
        return table[..., self.columns[name]]

    def _seen(self, table: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs of the fingers (B, fingers, ...), of the block (B, 14), and the axes of the block as columns (B, 3, 3)."""
        fingers, block = table[:, : self.fingers], table[:, self.fingers]
        position, velocity, spin = (self._get(block, name) for name in ("position", "linear_velocity", "angular_velocity"))
        first, second = self._get(block, "axes").chunk(2, -1)
        first = F.normalize(first, dim=-1)
        second = F.normalize(second - (first * second).sum(-1, keepdim=True) * first, dim=-1)
        axes = torch.stack([first, second, torch.linalg.cross(first, second)], -1)
        tips = self._get(fingers, "position")
        away = tips - position[:, None]
        inside = torch.einsum("bkj,bji->bki", away, axes)
        gap = inside.abs() - self._get(block, "size")[:, None] / 2
        distance = gap.clamp(min=0).norm(dim=-1, keepdim=True) + gap.amax(-1, keepdim=True).clamp(max=0)
        near = (-(distance - 0.01).clamp(min=0) / 0.01).exp()
        directions = [
            tips / 0.07, away / 0.05, (tips.roll(-1, 1) - tips) / 0.1, (tips.roll(1, 1) - tips) / 0.1,
            *(vector[:, None].expand_as(tips) for vector in (first, second, velocity / 0.1, spin / 3)),
        ]  # fmt: skip
        x = torch.cat([
            self._get(fingers, "joint_positions") / 0.3, self._get(fingers, "joint_velocities") / 0.4, action,
            *map(self._to_fingers, directions), (inside / 0.03).clamp(-3, 3), (gap / 0.01).clamp(-3, 3),
            (distance / 0.02).clamp(-2, 3), near,
        ], -1)  # fmt: skip
        height = (position[:, 2:] - self._get(block, "size")[:, 2:] / 2) / 0.003
        turned = [torch.einsum("bj,bji->bi", vector, axes) for vector in (velocity / 0.1, spin / 3)]
        middle = position[:, :2].norm(dim=-1, keepdim=True) / 0.1
        return x, torch.cat([*turned, axes[:, 2], height, position / 0.08, middle], -1), axes

    def _change(self, table: Tensor, axes: Tensor, finger: Tensor, block: Tensor) -> Tensor:
        """The change of the whole table, from outputs in the units and the frames of fingers and block."""
        change = torch.zeros_like(table)
        tip, joints, speeds = finger.split([3, *[(finger.shape[-1] - 3) // 2] * 2], -1)
        unit = {name: self.units[self.columns[name]] for name in NAMES}
        change[:, : self.fingers, self.columns["position"]] = self._to_world(tip[:, :, None] * unit["position"][0])[:, :, 0]
        change[:, : self.fingers, self.columns["joint_positions"]] = joints * unit["joint_positions"]
        change[:, : self.fingers, self.columns["joint_velocities"]] = speeds * unit["joint_velocities"]
        position, turn, velocity, spin = (torch.einsum("bij,bj->bi", axes, part) for part in block.chunk(4, -1))
        turn = turn * unit["axes"].min()

        def turned(axis: Tensor) -> Tensor:
            once = torch.linalg.cross(turn, axis)
            return axis + once + 0.5 * torch.linalg.cross(turn, once)

        after = torch.cat([turned(axes[..., 0]), turned(axes[..., 1])], -1)
        change[:, self.fingers, self.columns["position"]] = position * unit["position"][0]
        change[:, self.fingers, self.columns["axes"]] = after - self._get(table[:, self.fingers], "axes")
        change[:, self.fingers, self.columns["linear_velocity"]] = velocity * unit["linear_velocity"][0]
        change[:, self.fingers, self.columns["angular_velocity"]] = spin * unit["angular_velocity"][0]
        return change

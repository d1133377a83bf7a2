"""Video encoders: a whole clip to one vector, by a small network or by a 3-D ResNet with or without Kinetics weights."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.interfaces import Latent
from models.layers.pixels import to_float

SIDE = 112  # pixels that a ResNet is shown along a side
BLOCKS = {"r3d_18": (2, 2, 2, 2), "r3d_34": (3, 4, 6, 3)}
BACKBONES = ("fused", "small", *BLOCKS)
SPREAD = 16  # frames that the fused backbone looks at where none are named


def fused(width: int, frames: int, colors: int = 3, channels: int = 16) -> nn.Sequential:
    """Clips (B, C, T, H, W) of any size to (B, width), on a CPU: one convolution over all T frames, then three of pictures.

    The first layer spans the whole of time, so that the cost hardly grows with the number of frames, and places stay places.
    """
    c = channels
    layers: list[nn.Module] = [nn.Flatten(1, 2)]
    for inputs, outputs, size in (colors * frames, c, 5), (c, 2 * c, 3), (2 * c, 4 * c, 3), (4 * c, 4 * c, 3):
        layers += [nn.Conv2d(inputs, outputs, size, 2, size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(4 * c * 49, width))


def small(width: int, colors: int = 3, channels: int = 16) -> nn.Sequential:
    """Clips (B, C, T, H, W) of any size to (B, width), on a CPU: four convolutions, then places stay places."""
    c = channels
    layers: list[nn.Module] = []
    sizes = (colors, c, (3, 5, 5), 2), (c, 2 * c, 3, 2), (2 * c, 4 * c, 3, 2), (4 * c, 2 * c, 3, (1, 2, 2))
    for inputs, outputs, size, stride in sizes:
        padding = 1 if size == 3 else (1, 2, 2)
        layers += [nn.Conv3d(inputs, outputs, size, stride, padding, bias=False), nn.BatchNorm3d(outputs),
                   nn.ReLU(inplace=True)]  # fmt: skip
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d((7, 7, 7)), nn.Flatten(), nn.Linear(2 * c * 343, width))


def resnet(name: str, width: int) -> nn.Module:
    """A 3-D ResNet of torchvision with a linear layer to `width` numbers; r3d_34 with the stem of its published weights."""
    from torchvision.models.video.resnet import BasicBlock, BasicStem, Conv3DSimple, VideoResNet

    class Stem(nn.Sequential):
        """7 x 7 x 7 and a max-pool, where torchvision has 3 x 7 x 7 and none."""

        def __init__(self) -> None:
            super().__init__(nn.Conv3d(3, 64, 7, (1, 2, 2), 3, bias=False), nn.BatchNorm3d(64), nn.ReLU(inplace=True),
                             nn.MaxPool3d(3, 2, 1))  # fmt: skip

    stem = BasicStem if name == "r3d_18" else Stem
    return VideoResNet(BasicBlock, [Conv3DSimple] * 4, list(BLOCKS[name]), stem, num_classes=width)


def as_torchvision(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under torchvision's names; those of 3D-ResNets-PyTorch are renamed, and a prefix of data parallelism goes."""
    renamed = {}
    for key, value in state.items():
        parts = key.removeprefix("module.").split(".")
        if parts[0] in ("conv1", "bn1"):
            parts[0] = "stem.0" if parts[0] == "conv1" else "stem.1"
        elif parts[0].startswith("layer") and len(parts) == 4 and parts[2] in ("conv1", "conv2", "bn1", "bn2"):
            parts[2] = f"conv{parts[2][-1]}.{0 if parts[2].startswith('conv') else 1}"
        renamed[".".join(parts)] = value
    return renamed


class VideoEncoder(nn.Module):
    """obs (B, T, C, H, W), uint8 or float in [0, 1]  ->  K = 1, D = width. No normalisation beside the division by 255.

    backbone: fused, small, r3d_18 or r3d_34.  weights: a file of weights of the backbone, read when training begins; none:
    trained from scratch.  frozen: never trained, always in eval mode.  A ResNet is shown 112 pixels a side, the nearest ones.
    frames: of a clip that are looked at: how many of the first, or their numbers, from 0; none: all, and of the fused backbone
    16 that are spread evenly. What comes late in a clip tells how it came out, and heads that see it read features off the
    outcome.
    """

    takes_bytes = True
    gives = "clips"
    trained_by = "loss=labels"

    def __init__(
        self, width: int = 700, backbone: str = "small", weights: str | None = None, frozen: bool = False, colors: int = 3,
        channels: int = 16, frames: int | Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if backbone not in BACKBONES:
            raise ValueError(f"there is no video backbone '{backbone}', known: {', '.join(BACKBONES)}; set model.backbone=")
        self.backbone, self.weights, self.frozen = backbone, weights, frozen
        self.frames = frames if frames is None or isinstance(frames, int) else list(frames)
        if frames is not None and not (frames if isinstance(frames, int) else self.frames and min(self.frames) >= 0):
            raise ValueError(f"a video encoder looks at one frame or more, got frames={self.frames}; set model.frames=")
        if backbone == "fused":
            count = len(self.frames) if isinstance(self.frames, list) else self.frames or SPREAD
            self.net = fused(width, count, colors, channels)
        else:
            self.net = small(width, colors, channels) if backbone == "small" else resnet(backbone, width)

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield self.weights is not None or not self.frozen, (
            "model.frozen=true keeps the backbone as it stands, and without weights it has learned nothing; set model.weights= "
            "to a file of Kinetics weights, or model.frozen=false"
        )
        fault = self._fault() if self.weights is not None else None
        yield fault is None, (
            f"model.weights={self.weights} {fault}; choose another file, or model.backbone= and model.width= (700 for the "
            "published ones), or leave it out"
        )

    def _state(self) -> dict[str, Tensor]:
        state = torch.load(self.weights, map_location="cpu", weights_only=True)
        state = as_torchvision(state.get("state_dict", state))
        if other := [name for name, value in state.items() if not isinstance(value, Tensor)]:
            raise KeyError(f"'{other[0]}' is no tensor")
        return state

    def _fault(self) -> str | None:
        """Why the file of weights does not fit this backbone, to follow its name; None where it does."""
        if not Path(self.weights).is_file():
            return "is no file"
        try:
            found = self._state()
        except (OSError, EOFError, RuntimeError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
            return f"cannot be read as weights ({type(error).__name__})"
        except Exception as error:  # a pickle that may run code is refused by a class of torch's own
            return f"is refused ({type(error).__name__}): weights alone are read, and it holds other things"
        own = self.net.state_dict()
        shapes = [{name: tuple(part.shape) for name, part in side.items()} for side in (own, found)]
        differing = sorted(name for name in own.keys() | found.keys() if shapes[0].get(name) != shapes[1].get(name))
        if not differing:
            return None
        sides = (side.get(differing[0], "nothing") for side in shapes)
        return "does not fit backbone {}: {} of {} weights differ, first {} (expected {}, got {})".format(
            self.backbone, len(differing), len(own.keys() | found.keys()), differing[0], *sides)  # fmt: skip

    def begin(self) -> None:
        """Take up the weights of the file, where one is named; what a checkpoint holds comes later and goes over them."""
        if self.weights is not None:
            self.net.load_state_dict(self._state())

    def train(self, mode: bool = True) -> "VideoEncoder":
        return super().train(mode and not self.frozen)

    def _looked_at(self, length: int) -> list[int]:
        """Numbers of the frames of a clip of this length that are looked at."""
        if self.frames is None:
            spread = self.backbone == "fused"
            return torch.linspace(0, length - 1, SPREAD).round().long().tolist() if spread else list(range(length))
        numbers = list(range(self.frames)) if isinstance(self.frames, int) else self.frames
        if max(numbers) >= length:
            raise ValueError(f"model.frames={self.frames} looks at frame {max(numbers)}, and the clips have {length} frames, "
                             f"from 0; set model.frames= to fewer")  # fmt: skip
        return numbers

    def forward(self, obs: Tensor) -> Latent:
        if obs.ndim != 5:
            raise ValueError(f"a video encoder reads clips (B, T, C, H, W), got {tuple(obs.shape)}")
        x, scale = to_float(obs[:, self._looked_at(obs.shape[1])])
        x = x.transpose(1, 2)
        if self.backbone in BLOCKS and x.shape[-2:] != (SIDE, SIDE):
            x = F.interpolate(x, (x.shape[2], SIDE, SIDE))
        return Latent(self.net(x * scale).float()[:, None])

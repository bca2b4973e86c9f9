#!/usr/bin/env python3
"""Writes zoo-*.json: PyTorch's results for the convolutional networks of the zoo, at full depth and small
widths: outputs, loss, every gradient and the running statistics after one step in training.

    pip install torch==2.5.1 numpy && python tests/golden/zoo.py

Each network is written here by hand, from its paper, under the layer names the zoo uses.
"""

import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

from formula import digest, labels, units, write_lines

MADE_BY = f"tests/golden/zoo.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
GAIN = math.sqrt(6)  # signals keep their size through many layers of ReLU
SAMPLES = 5


class Builder(nn.Module):
    """Layers by name; forward() applies them with the function that a network's class defines."""

    def __init__(self, width, bn, channels):
        super().__init__()
        self.width, self.bn, self.channels = width, bn, channels

    def scaled(self, maps):
        wanted = maps * self.width
        nearest = max(8, int(wanted + 4) // 8 * 8)
        return nearest + 8 if nearest < 0.9 * wanted else nearest

    def conv(self, name, maps, kernel, stride=1, pad=0, groups=1, bias=None, at=None):
        """Returns the maps, so that the next layer knows its input."""
        into = self.channels if at is None else at
        bias = not self.bn if bias is None else bias
        self.add_module(name, nn.Conv2d(into, maps, kernel, stride, pad, groups=groups, bias=bias))
        if self.bn:
            self.add_module(name + "_bn", nn.BatchNorm2d(maps))
        self.channels = maps
        return maps

    def run(self, name, x, activation=F.relu):
        x = self.get_submodule(name)(x)
        if self.bn:
            x = self.get_submodule(name + "_bn")(x)
        return x if activation is None else activation(x)


def threshold(x):
    return F.threshold(x, 0, 1e-6)


class AlexNet(Builder):
    def __init__(self, rows, columns, classes, width=1, bn=False, channels=3):
        super().__init__(width, bn, channels)
        s = self.scaled
        for name, maps, kernel, stride, pad in (("conv1", 64, 11, 4, 2), ("conv2", 192, 5, 1, 2),
                                                ("conv3", 384, 3, 1, 1), ("conv4", 256, 3, 1, 1),
                                                ("conv5", 256, 3, 1, 1)):
            self.conv(name, s(maps), kernel, stride, pad)
        sides = [((((n - 7) // 4 + 1) - 3) // 2 + 1 - 3) // 2 + 1 for n in (rows, columns)]
        features = s(256) * math.prod((n - 3) // 2 + 1 for n in sides)
        self.fc6 = nn.Linear(features, s(4096))
        self.fc7 = nn.Linear(s(4096), s(4096))
        self.fc8 = nn.Linear(s(4096), classes)

    def forward(self, x):
        x = F.max_pool2d(self.run("conv1", x), 3, 2)
        x = F.max_pool2d(self.run("conv2", x), 3, 2)
        x = self.run("conv5", self.run("conv4", self.run("conv3", x)))
        x = F.max_pool2d(x, 3, 2).flatten(1)
        return self.fc8(threshold(self.fc7(threshold(self.fc6(x)))))


class OverFeat(Builder):
    def __init__(self, rows, columns, classes, width=1, bn=False, channels=3):
        super().__init__(width, bn, channels)
        s = self.scaled
        for name, maps, kernel, stride, pad in (("conv1", 96, 11, 4, 0), ("conv2", 256, 5, 1, 0),
                                                ("conv3", 512, 3, 1, 1), ("conv4", 1024, 3, 1, 1),
                                                ("conv5", 1024, 3, 1, 1)):
            self.conv(name, s(maps), kernel, stride, pad)
        features = s(1024) * math.prod(((((n - 11) // 4 + 1) // 2) - 4) // 2 // 2 for n in (rows, columns))
        self.fc6 = nn.Linear(features, s(3072))
        self.fc7 = nn.Linear(s(3072), s(4096))
        self.fc8 = nn.Linear(s(4096), classes)

    def forward(self, x):
        x = F.max_pool2d(self.run("conv1", x), 2)
        x = F.max_pool2d(self.run("conv2", x), 2)
        x = self.run("conv5", self.run("conv4", self.run("conv3", x)))
        x = F.max_pool2d(x, 2).flatten(1)
        return self.fc8(F.relu(self.fc7(F.relu(self.fc6(x)))))


class Vgg(Builder):
    STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}

    def __init__(self, rows, columns, classes, depth, width=1, bn=False, channels=3):
        super().__init__(width, bn, channels)
        s = self.scaled
        self.stages = [[f"conv{i + 1}_{j + 1}" for j in range(n)] for i, n in enumerate(self.STAGES[depth])]
        for names, maps in zip(self.stages, (64, 128, 256, 512, 512)):
            for name in names:
                self.conv(name, s(maps), 3, 1, 1, bias=True)
        self.fc6 = nn.Linear(s(512) * (rows // 32) * (columns // 32), s(4096))
        self.fc7 = nn.Linear(s(4096), s(4096))
        self.fc8 = nn.Linear(s(4096), classes)

    def forward(self, x):
        for names in self.stages:
            for name in names:
                x = self.run(name, x)
            x = F.max_pool2d(x, 2)
        return self.fc8(F.relu(self.fc7(F.relu(self.fc6(x.flatten(1))))))


class GoogLeNet(Builder):
    MODULES = {
        "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "4a": (192, 96, 208, 16, 48, 64),
        "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
        "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
        "5b": (384, 192, 384, 48, 128, 128)}

    def __init__(self, rows, columns, classes, width=1, bn=False, channels=3, relu=False):
        super().__init__(width, bn, channels)
        s, self.relu = self.scaled, relu
        self.conv("conv1", s(64), 7, 2, 3)
        self.conv("conv2r", s(64), 1)
        at = self.conv("conv2", s(192), 3, 1, 1)
        for name, widths in self.MODULES.items():
            one, reduce3, three, reduce5, five, pool = map(s, widths)
            self.conv(name + "_1x1", one, 1, at=at)
            self.conv(name + "_3x3_reduce", reduce3, 1, at=at)
            self.conv(name + "_3x3", three, 3, 1, 1)
            self.conv(name + "_5x5_reduce", reduce5, 1, at=at)
            self.conv(name + "_5x5", five, 5, 1, 2)
            self.conv(name + "_pool_proj", pool, 1, at=at)
            at = one + three + five + pool
        self.fc = nn.Linear(at, classes)

    def inception(self, name, x):
        return torch.cat((self.run(name + "_1x1", x),
                          self.run(name + "_3x3", self.run(name + "_3x3_reduce", x)),
                          self.run(name + "_5x5", self.run(name + "_5x5_reduce", x)),
                          self.run(name + "_pool_proj", F.max_pool2d(x, 3, 1, 1))), 1)

    def forward(self, x):
        x = F.max_pool2d(self.run("conv1", x), 3, 2, 1)
        x = F.max_pool2d(self.run("conv2", self.run("conv2r", x)), 3, 2, 1)
        for name in self.MODULES:
            if name in ("4a", "5a"):
                x = F.max_pool2d(x, 3, 2, 1)
            x = self.inception(name, x)
        x = self.fc(x.mean((2, 3)))
        return F.relu(x) if self.relu else x


class ResNet(Builder):
    BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}

    def __init__(self, rows, columns, classes, depth, late=False, cifar=False, width=1, bn=True, channels=3):
        super().__init__(width, bn, channels)
        s, self.deep, self.cifar = self.scaled, depth >= 50, cifar
        at = self.conv("conv1", s(64), *((3, 1, 1) if cifar else (7, 2, 3)))
        self.blocks = []
        for stage, count in enumerate(self.BLOCKS[depth]):
            for i in range(count):
                name, maps, stride = f"conv{stage + 2}_{i + 1}", s(64 << stage), 2 if stage and not i else 1
                out = maps * (4 if self.deep else 1)
                project = i == 0 and (self.deep or stage > 0)
                if project:
                    self.conv(name + "_shortcut", out, 1, stride, at=at)
                if self.deep:
                    self.conv(name + "_a", maps, 1, 1 if late else stride, at=at)
                    self.conv(name + "_b", maps, 3, stride if late else 1, 1)
                    self.conv(name + "_c", out, 1)
                else:
                    self.conv(name + "_a", out, 3, stride, 1, at=at)
                    self.conv(name + "_b", out, 3, 1, 1)
                self.blocks.append((name, project))
                at = out
        self.fc = nn.Linear(at, classes)

    def forward(self, x):
        x = self.run("conv1", x)
        if not self.cifar:
            x = F.max_pool2d(x, 3, 2, 1)
        for name, project in self.blocks:
            shortcut = self.run(name + "_shortcut", x, None) if project else x
            x = self.run(name + "_a", x)
            x = self.run(name + "_b", x, F.relu if self.deep else None)
            x = self.run(name + "_c", x, None) if self.deep else x
            x = F.relu(x + shortcut)
        return self.fc(x.mean((2, 3)))


class SqueezeNet(Builder):
    SQUEEZE = (16, 16, 32, 32, 48, 48, 64, 64)

    def __init__(self, rows, columns, classes, version, width=1, bn=False, channels=3):
        super().__init__(width, bn, channels)
        s, first = self.scaled, version == "1.0"
        self.pools = (4, 8) if first else (3, 5)
        at = self.conv("conv1", s(96) if first else s(64), 7 if first else 3, 2)
        for i, squeeze in enumerate(self.SQUEEZE, start=2):
            narrow = self.conv(f"fire{i}_squeeze", s(squeeze), 1, at=at)
            self.conv(f"fire{i}_1x1", s(4 * squeeze), 1, at=narrow)
            self.conv(f"fire{i}_3x3", s(4 * squeeze), 3, 1, 1, at=narrow)
            at = 2 * s(4 * squeeze)
        self.conv10 = nn.Conv2d(at, classes, 1)

    def forward(self, x):
        x = F.max_pool2d(self.run("conv1", x), 3, 2, ceil_mode=True)
        for i in range(2, 10):
            x = self.run(f"fire{i}_squeeze", x)
            x = torch.cat((self.run(f"fire{i}_1x1", x), self.run(f"fire{i}_3x3", x)), 1)
            if i in self.pools:
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        return F.relu(self.conv10(x)).mean((2, 3))


class MobileNetV2(Builder):
    GROUPS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
              (6, 320, 1, 1))

    def __init__(self, rows, columns, classes, width=1, bn=True, channels=3):
        super().__init__(width, bn, channels)
        s = self.scaled
        at = self.conv("conv1", s(32), 3, 2, 1)
        self.blocks = []
        for expand, maps, count, first in self.GROUPS:
            for i in range(count):
                name, stride, out = f"block{len(self.blocks) + 1}", first if i == 0 else 1, s(maps)
                if expand != 1:
                    self.conv(name + "_expand", at * expand, 1)
                self.conv(name + "_depthwise", at * expand, 3, stride, 1, groups=at * expand)
                self.conv(name + "_project", out, 1)
                self.blocks.append((name, expand != 1, stride == 1 and at == out))
                at = out
        self.conv("conv2", max(1280, s(1280)), 1)
        self.fc = nn.Linear(self.channels, classes)

    def forward(self, x):
        x = self.run("conv1", x, F.relu6)
        for name, widen, residual in self.blocks:
            y = self.run(name + "_expand", x, F.relu6) if widen else x
            y = self.run(name + "_project", self.run(name + "_depthwise", y, F.relu6), None)
            x = x + y if residual else y
        return self.fc(self.run("conv2", x, F.relu6).mean((2, 3)))


class MobileNetV1(Builder):
    PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1),
             (512, 1), (1024, 2), (1024, 1))

    def __init__(self, rows, columns, classes, width=1, bn=True, channels=3):
        super().__init__(width, bn, channels)
        self.conv("conv1", self.scaled(32), 3, 2, 1)
        for i, (maps, stride) in enumerate(self.PAIRS, start=1):
            self.conv(f"block{i}_depthwise", self.channels, 3, stride, 1, groups=self.channels)
            self.conv(f"block{i}_project", self.scaled(maps), 1)
        self.fc = nn.Linear(self.channels, classes)

    def forward(self, x):
        x = self.run("conv1", x)
        for i in range(1, len(self.PAIRS) + 1):
            x = self.run(f"block{i}_project", self.run(f"block{i}_depthwise", x))
        return self.fc(x.mean((2, 3)))


# name: (its name in the zoo, batch, class, its options)
SPECS = {
    "alexnet": ("alexnet", 3, AlexNet, dict(rows=67, columns=99, classes=7, width=0.125)),
    "overfeat": ("overfeat", 2, OverFeat, dict(rows=75, columns=71, classes=6, width=0.125)),
    "vgg11": ("vgg:depth=11", 3, Vgg, dict(rows=32, columns=64, classes=5, depth=11, width=0.125)),
    "vgg13": ("vgg:depth=13", 3, Vgg, dict(rows=32, columns=32, classes=5, depth=13, width=0.25)),
    # 64 x 64 has an input of a ReLU that is 8.4e-07 of their rms: within rounding of zero.
    "vgg16-bn": ("vgg:depth=16", 4, Vgg, dict(rows=64, columns=72, classes=5, depth=16, width=0.125, bn=True)),
    "vgg19": ("vgg:depth=19", 2, Vgg, dict(rows=40, columns=32, classes=11, depth=19, width=0.125, channels=1)),
    "googlenet": ("googlenet", 2, GoogLeNet, dict(rows=64, columns=40, classes=9, width=0.25)),
    "googlenet-bn": ("googlenet:output=relu", 4, GoogLeNet,
                     dict(rows=64, columns=64, classes=9, width=0.125, bn=True, relu=True)),
    "resnet18-cifar": ("resnet:depth=18,stem=cifar", 4, ResNet,
                       dict(rows=32, columns=32, classes=10, depth=18, cifar=True, width=0.25)),
    "resnet34": ("resnet:depth=34", 4, ResNet, dict(rows=64, columns=72, classes=8, depth=34, width=0.125)),
    "resnet50": ("resnet:depth=50,version=1", 5, ResNet,
                 dict(rows=64, columns=64, classes=12, depth=50, width=0.125)),
    "resnet50-v1.5": ("resnet:depth=50,version=1.5", 4, ResNet,
                      dict(rows=72, columns=64, classes=12, depth=50, late=True, width=0.125, channels=1)),
    "resnet101": ("resnet:depth=101", 4, ResNet, dict(rows=64, columns=64, classes=6, depth=101, width=0.125)),
    "squeezenet-1.0": ("squeezenet:version=1.0", 2, SqueezeNet,
                       dict(rows=64, columns=50, classes=10, version="1.0", width=0.5)),
    "squeezenet-1.1": ("squeezenet:version=1.1", 3, SqueezeNet,
                       dict(rows=33, columns=47, classes=10, version="1.1", width=0.25)),
    "mobilenet-v2": ("mobilenet:version=2", 4, MobileNetV2, dict(rows=64, columns=64, classes=10, width=0.25)),
    "mobilenet-v1": ("mobilenet:version=1", 4, MobileNetV1, dict(rows=64, columns=80, classes=10, width=0.25)),
}


def words(spec, options):
    """The same options in the zoo's form."""
    said = {"input": f"{options['rows']}x{options['columns']}", "classes": options["classes"],
            "width": options["width"], "channels": options.get("channels", 3), "dropout": 0}
    if "bn" in options:
        said["bn"] = "on" if options["bn"] else "off"
    text = ",".join(f"{name}={value}" for name, value in said.items())
    return spec + ("," if ":" in spec else ":") + text


def initial(tensor, name, shape):
    """Normalised layers stay away from zero, where one rounding would switch a ReLU and its gradient."""
    if name.endswith("_bn.weight"):
        return 0.3 + 0.15 * units(tensor, shape)
    if name.endswith("_bn.bias"):
        shift = units(tensor, shape)
        return 0.5 + 0.3 * shift + (5.5 * (shift > 0.5) if "_expand" in name else 0)  # both ends of ReLU6
    return units(tensor, shape) * (0.1 if len(shape) == 1 else GAIN / math.sqrt(math.prod(shape[1:])))


def step(kind, options, batch, dtype):
    """One pass in training: outputs, loss, gradients, statistics."""
    net = kind(**options).to(dtype).train()
    with torch.no_grad():
        for tensor, (name, p) in enumerate(net.named_parameters(), start=1):
            p.copy_(initial(tensor, name, tuple(p.shape)))
    images = units(0, (batch, options.get("channels", 3), options["rows"], options["columns"])).to(dtype)
    outputs = net(images)
    loss = F.cross_entropy(outputs, torch.from_numpy(labels(batch, options["classes"])))
    loss.backward()
    statistics = {name: b for name, b in net.named_buffers() if not name.endswith("num_batches_tracked")}
    evaluated = net.eval()(images)
    return {"outputs": outputs.detach(), "loss": loss.item(), "evaluated": evaluated.detach(),
            "gradients": {name: p.grad for name, p in net.named_parameters()}, "statistics": statistics,
            "shapes": {name: list(p.shape) for name, p in net.named_parameters()}}


def short(values):
    """The digest of formula.py with fewer samples: these networks have hundreds of tensors."""
    record = digest(values)
    flat = values.detach().numpy().reshape(-1)
    record["first"] = record["first"][:1]
    record["samples"] = [float(flat[k * (flat.size - 1) // (SAMPLES - 1)]) for k in range(SAMPLES)]
    return record


def rms(values):
    return float(values.square().mean().sqrt())


def off(exact, rounded):
    """The largest error of an element, relative to the rms of its tensor."""
    size = rms(exact)
    return float((exact - rounded.double()).abs().max()) / size if size > 0 else 0.0


def golden(spec, batch, kind, options):
    exact, rounded = (step(kind, options, batch, dtype) for dtype in (torch.float64, torch.float32))
    # Values that a normalisation removes again have no gradient except rounding.
    largest = max(rms(g) for g in exact["gradients"].values())
    nothing = [name for name, g in exact["gradients"].items() if rms(g) < 1e-12 * largest]
    worst = {key: max(off(exact[key][name], rounded[key][name]) for name in exact[key] if name not in nothing)
             for key in ("gradients", "statistics") if exact[key]}
    assert worst["gradients"] < 2e-3, "fp32 would test nothing: choose another size"
    worst["outputs"] = off(exact["outputs"], rounded["outputs"])
    worst["evaluated"] = off(exact["evaluated"], rounded["evaluated"])
    worst["loss"] = abs(exact["loss"] - rounded["loss"]) / exact["loss"]
    return {
        "network": words(spec, options), "made_by": MADE_BY, "batch": batch, "classes": options["classes"],
        "input": [batch, options.get("channels", 3), options["rows"], options["columns"]],
        "fp32_error": worst, "shapes": exact["shapes"], "outputs": short(exact["outputs"]),
        "loss": exact["loss"], "evaluated": short(exact["evaluated"]),
        "largest_gradient_rms": largest, "without_gradient": nothing,
        "gradients": {name: short(g) for name, g in exact["gradients"].items() if name not in nothing},
        "statistics": {name: short(s) for name, s in exact["statistics"].items()},
    }


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder = pathlib.Path(__file__).resolve().parent
    for name, (spec, batch, kind, options) in SPECS.items():
        record = golden(spec, batch, kind, options)
        path = folder / f"zoo-{name}.json"
        path.write_text(write_lines(record) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size} bytes, {len(record['shapes'])} tensors, loss "
              f"{record['loss']:.3f}, fp32 {({k: f'{v:.1e}' for k, v in record['fp32_error'].items()})}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the golden numbers of this folder: what PyTorch computes for three small networks in fp64.

    pip install torch==2.5.1 numpy && python tests/golden/make_golden.py

The tests read only the JSON files; neither Python nor torch is needed to run them. What the files hold,
and the conventions of loss and optimiser, is described in README.md beside this script.

Nothing is drawn at random, so that the C++ side (golden.h) can make the same numbers without a file. All
integers are unsigned, 32 bits wide, and wrap around:

    mix(h):       h ^= h >> 15;  h *= 2246822519;  h ^= h >> 13
    unit(t, i)  = (mix(i * 2654435761 + t * 40503 + 12345) / 2^32 - 0.5) * 2      in [-1, 1), exact in fp64
    value(t, i) = unit(t, i) * scale
    label(i)    = mix(i * 7 + 3) mod classes

for element i (row-major) of tensor t. Tensor 0 is the input; 1, 2, ... are the parameters in the order the
network lists them. The scale is 1 for the input, 0.1 for a bias (one axis) and 1 / sqrt(fan_in) for a weight,
fan_in being the product of its extents after the first.
"""

import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

MADE_BY = f"tests/golden/make_golden.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
MASK = 0xFFFFFFFF
STEPS = 10
SETTINGS = {
    "sgd": {"lr": 0.05},
    "momentum": {"lr": 0.05, "momentum": 0.9},
    "nesterov_l2": {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
}
# Written apart, for one small network: name, torch's class, its options.
OPTIMIZERS = {
    "adagrad": ("Adagrad", {"lr": 0.05, "weight_decay": 1e-3}),
    "adadelta": ("Adadelta", {"lr": 1.0, "weight_decay": 1e-3}),
    "rmsprop": ("RMSprop", {"lr": 0.005}),
    "rmsprop_momentum": ("RMSprop", {"lr": 0.005, "alpha": 0.9, "eps": 1e-4, "momentum": 0.9}),
    "adam": ("Adam", {"lr": 0.01}),
    "adam_l2": ("Adam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 1e-2}),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 1e-2}),
}
# Small, large and wrapping indices; the last tensor number is beyond any network here.
FORMULA_POINTS = [(0, 0), (0, 1), (0, 2), (0, 12543), (1, 0), (1, 401407), (2, 511), (3, 5119), (4, 9),
                  (10, 839), (65537, 4294967296)]


def mix(h):
    """Spreads the high bits of a Weyl sequence over the word; h is an array of uint64 below 2^32."""
    h = h ^ (h >> np.uint64(15))
    h = (h * np.uint64(2246822519)) & np.uint64(MASK)
    return h ^ (h >> np.uint64(13))


def unit(tensor, elements):
    """Values in [-1, 1) of the given elements (uint64) of a tensor."""
    h = (elements * np.uint64(2654435761) + np.uint64(tensor * 40503 + 12345)) & np.uint64(MASK)
    return (mix(h).astype(np.float64) / 2.0**32 - 0.5) * 2.0


def labels(count, classes):
    h = (np.arange(count, dtype=np.uint64) * np.uint64(7) + np.uint64(3)) & np.uint64(MASK)
    return (mix(h) % np.uint64(classes)).astype(np.int64)


def scale(tensor, shape):
    if tensor == 0:
        return 1.0
    return 0.1 if len(shape) == 1 else 1.0 / math.sqrt(math.prod(shape[1:]))


def fill(tensor, shape):
    values = unit(tensor, np.arange(math.prod(shape), dtype=np.uint64)) * scale(tensor, shape)
    return torch.from_numpy(values.reshape(shape))


class Mlp(nn.Module):
    input_shape, classes = (16, 784), 10

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 512)
        self.out = nn.Linear(512, 10)

    def forward(self, x):
        return self.out(torch.sigmoid(self.hidden(x)))


class Lenet5(nn.Module):
    input_shape, classes = (8, 1, 32, 32), 10

    def __init__(self):
        super().__init__()
        self.C1 = nn.Conv2d(1, 6, 5)
        self.C3 = nn.Conv2d(6, 16, 5)
        self.C5 = nn.Conv2d(16, 120, 5)
        self.F6 = nn.Linear(120, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.C1(x)), 2)  # 8x6x14x14
        x = F.max_pool2d(F.relu(self.C3(x)), 2)  # 8x16x5x5
        x = F.relu(self.C5(x)).flatten(1)  # 8x120
        return self.out(F.relu(self.F6(x)))


class Mixed(nn.Module):
    """One of each attribute that is easily got wrong: uneven padding, groups, dilation, partial windows."""

    input_shape, classes = (4, 4, 13, 11), 7

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 3, stride=2, groups=2)
        self.conv2 = nn.Conv2d(8, 6, 3, padding=2, dilation=2)
        self.out = nn.Linear(36, 7)

    def forward(self, x):
        x = F.pad(x, (0, 1, 1, 2))  # left, right, top, bottom
        x = torch.tanh(self.conv1(x))  # 4x8x7x5
        x = F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)  # 4x8x4x3
        x = torch.sigmoid(self.conv2(x))  # 4x6x4x3
        x = F.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=True)  # 4x6x3x2
        return self.out(x.flatten(1))


def build(network):
    net = network().double()
    with torch.no_grad():
        for tensor, parameter in enumerate(net.parameters(), start=1):
            parameter.copy_(fill(tensor, tuple(parameter.shape)))
    return net


def digest(values):
    """A tensor in 24 numbers: enough to notice a wrong element anywhere, and to see a few of them."""
    flat = values.detach().numpy().reshape(-1)
    n = flat.size
    weights = np.cos(0.37 * np.arange(n, dtype=np.float64) + 0.1)
    return {
        "n": n,
        "sum": math.fsum(flat),
        "sum_of_squares": math.fsum(flat * flat),
        "weighted": math.fsum(flat * weights),
        "first": flat[:4].tolist(),
        "samples": [float(flat[k * (n - 1) // 15]) for k in range(16)],
    }


def digests(named_tensors):
    return {name: digest(tensor) for name, tensor in named_tensors}


def train(network, batch, targets, setting, kind="SGD"):
    """Ten steps on one batch: the loss before each, and the parameters after the last."""
    net = build(network)
    options = dict(setting)
    decay = options.pop("weight_decay", 0.0)
    weights = [p for p in net.parameters() if p.dim() > 1]
    biases = [p for p in net.parameters() if p.dim() == 1]
    groups = [{"params": weights, "weight_decay": decay}, {"params": biases, "weight_decay": 0.0}]
    optimizer = getattr(torch.optim, kind)(groups, **options)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch), targets)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return {"setting": setting, "losses": losses, "parameters": digests(net.named_parameters())}


def golden(network):
    batch = fill(0, network.input_shape)
    chosen = labels(network.input_shape[0], network.classes)
    targets = torch.from_numpy(chosen)
    net = build(network)
    logits = net(batch)
    loss = F.cross_entropy(logits, targets)
    loss.backward()
    points = [[t, i, float(unit(t, np.array([i & MASK], dtype=np.uint64))[0])] for t, i in FORMULA_POINTS]
    return {
        "network": network.__name__.lower(),
        "made_by": MADE_BY,
        "formula": {"values": points, "labels": chosen.tolist()},
        "classes": network.classes,
        "input": list(network.input_shape),
        "shapes": {name: list(p.shape) for name, p in net.named_parameters()},
        "initial": digests(net.named_parameters()),
        "logits": logits.tolist(),
        "loss": loss.item(),
        "gradients": digests((name, p.grad) for name, p in net.named_parameters()),
        "training": {name: train(network, batch, targets, s) for name, s in SETTINGS.items()},
    }


def golden_optimizers(network):
    """Ten steps of each optimizer but those of SETTINGS, on one network."""
    batch = fill(0, network.input_shape)
    targets = torch.from_numpy(labels(network.input_shape[0], network.classes))
    return {
        "network": network.__name__.lower(),
        "made_by": MADE_BY,
        "training": {name: train(network, batch, targets, s, kind) for name, (kind, s) in OPTIMIZERS.items()},
    }


def is_leaf(value):
    """Whether a value goes on one line: a number, a list, or a record of them such as a digest."""
    return not isinstance(value, dict) or not any(isinstance(v, dict) for v in value.values())


def write_lines(value, indent=0):
    """JSON, one tensor to a line. Floats are written by repr: the shortest text that reads back equal."""
    if is_leaf(value):
        return json.dumps(value, separators=(",", ":"))
    pad = " " * (indent + 1)
    rows = [f"{pad}{json.dumps(key)}: {write_lines(item, indent + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder = pathlib.Path(__file__).resolve().parent
    records = {network.__name__.lower(): golden(network) for network in (Mlp, Lenet5, Mixed)}
    records["optimizers"] = golden_optimizers(Mixed)
    for name, record in records.items():
        path = folder / f"{name}.json"
        path.write_text(write_lines(record) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

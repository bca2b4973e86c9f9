#!/usr/bin/env python3
"""The networks of cpu_nets in PyTorch on a CPU, in every mode that may make them fast.

Reads a number of seconds from standard input, times every mode for so long, writes one line of JSON, and so on until
the input ends. Modes that fail are left out.
"""
import argparse
import copy
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

FIRES = {"squeezenet1_0": (96, 7, [0, (16, 64), (16, 64), (32, 128), 0, (32, 128), (48, 192), (48, 192), (64, 256), 0, (64, 256)]),
         "squeezenet1_1": (64, 3, [0, (16, 64), (16, 64), 0, (32, 128), (32, 128), 0, (48, 192), (48, 192), (64, 256), (64, 256)])}
BASIC_BLOCKS = [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]
INVERTED = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def relu():
    return nn.ReLU(inplace=True)


def alexnet():
    pool = lambda: nn.MaxPool2d(3, 2)
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), relu(), pool(), nn.Conv2d(64, 192, 5, padding=2), relu(), pool(),
        nn.Conv2d(192, 384, 3, padding=1), relu(), nn.Conv2d(384, 256, 3, padding=1), relu(),
        nn.Conv2d(256, 256, 3, padding=1), relu(), pool(), nn.Flatten(), nn.Linear(9216, 4096), relu(),
        nn.Linear(4096, 4096), relu(), nn.Linear(4096, 1000))


class Fire(nn.Module):
    def __init__(self, channels, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat([F.relu(self.one(x), inplace=True), F.relu(self.three(x), inplace=True)], 1)


def squeezenet(name):
    channels, kernel, fires = FIRES[name]
    layers = [nn.Conv2d(3, channels, kernel, 2), relu()]
    for fire in fires:
        layers.append(Fire(channels, *fire) if fire else nn.MaxPool2d(3, 2, ceil_mode=True))
        channels = 2 * fire[1] if fire else channels
    return nn.Sequential(*layers, nn.Conv2d(channels, 1000, 1), relu(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Basic(nn.Module):
    def __init__(self, channels, maps, stride):
        super().__init__()
        self.a, self.na = nn.Conv2d(channels, maps, 3, stride, 1, bias=False), nn.BatchNorm2d(maps)
        self.b, self.nb = nn.Conv2d(maps, maps, 3, 1, 1, bias=False), nn.BatchNorm2d(maps)
        self.shortcut = nn.Identity()
        if stride != 1 or channels != maps:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, maps, 1, stride, bias=False), nn.BatchNorm2d(maps))

    def forward(self, x):
        y = self.nb(self.b(F.relu(self.na(self.a(x)), inplace=True)))
        return F.relu(y + self.shortcut(x), inplace=True)


def resnet18():
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), relu(), nn.MaxPool2d(3, 2, 1)], 64
    for maps, stride in BASIC_BLOCKS:
        layers.append(Basic(channels, maps, stride))
        channels = maps
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Inverted(nn.Module):
    def __init__(self, channels, maps, stride, factor):
        super().__init__()
        hidden, layers = channels * factor, []
        if factor != 1:
            layers += [nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden),
                   nn.ReLU6(inplace=True), nn.Conv2d(hidden, maps, 1, bias=False), nn.BatchNorm2d(maps)]
        self.layers, self.residual = nn.Sequential(*layers), stride == 1 and channels == maps

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def mobilenet_v2():
    layers, channels = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True)], 32
    for factor, maps, count, first in INVERTED:
        for stride in [first] + [1] * (count - 1):
            layers.append(Inverted(channels, maps, stride, factor))
            channels = maps
    return nn.Sequential(*layers, nn.Conv2d(channels, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


def build(name):
    if name in FIRES:
        return squeezenet(name)
    return {"alexnet": alexnet, "resnet18": resnet18, "mobilenet_v2": mobilenet_v2}[name]()


def forward_modes(net, x):
    """Mode name to a function that runs once."""

    def frozen(m, images, optimised):
        m = torch.jit.freeze(torch.jit.trace(m, images))
        return torch.jit.optimize_for_inference(m) if optimised else m

    def run(m, images, onednn=True):
        def once():
            with torch.inference_mode(), torch.backends.mkldnn.flags(enabled=onednn):
                m(images)
        return once

    net = net.eval()
    last = dict(memory_format=torch.channels_last)
    made = {"eager": lambda: run(net, x),
            "eager, no oneDNN": lambda: run(net, x, False),
            "channels last": lambda: run(copy.deepcopy(net).to(**last), x.to(**last)),
            "frozen": lambda: run(frozen(copy.deepcopy(net), x, False), x),
            "frozen, channels last": lambda: run(frozen(copy.deepcopy(net).to(**last), x.to(**last), False), x.to(**last)),
            "optimised": lambda: run(frozen(copy.deepcopy(net), x, True), x)}
    modes = {}
    for name, make in made.items():
        try:
            with torch.inference_mode():
                modes[name] = make()
            for _ in range(3):
                modes[name]()
        except RuntimeError as error:
            modes.pop(name, None)
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
    return modes


def step_modes(net, x):
    def stepping(m, images):
        m = m.train()
        labels = torch.randint(1000, (images.shape[0],))
        update = torch.optim.SGD(m.parameters(), lr=1e-6, momentum=0.9)

        def once():
            update.zero_grad()
            F.cross_entropy(m(images), labels).backward()
            update.step()
        return once

    last = dict(memory_format=torch.channels_last)
    return {"step": stepping(copy.deepcopy(net), x), "step, channels last": stepping(copy.deepcopy(net).to(**last), x.to(**last))}


def timed(once, seconds):
    samples, total = [], 0
    once()
    while total < seconds or len(samples) < 3:
        start = time.perf_counter()
        once()
        samples.append(1e3 * (time.perf_counter() - start))
        total += samples[-1] / 1e3
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--step", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    net, x = build(args.network), torch.randn(args.batch, 3, 224, 224)
    modes = forward_modes(net, x)
    if args.step:
        modes.update(step_modes(net, x))
    for line in sys.stdin:
        ms = {name: timed(once, float(line)) for name, once in modes.items()}
        print(json.dumps({"parameters": sum(p.numel() for p in net.parameters()), "ms": ms}), flush=True)


if __name__ == "__main__":
    main()

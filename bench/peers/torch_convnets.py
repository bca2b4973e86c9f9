#!/usr/bin/env python3
"""Times training steps of the large convolutional networks in PyTorch, in every mode that makes it fast.

The layers are those of `headroom model show NAME`, without torchvision: alexnet, overfeat, vgg:depth=11, googlenet,
resnet:depth=50. A step is forward, cross-entropy, backward and SGD with momentum (fused); tf32 means both switches on,
bf16 autocast with fp32 weights. cudnn.benchmark is on. Memory is the peak of one mode: what the allocator holds from the
system, workspaces of the libraries included. One JSON object is written after every mode.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

from torch_peers import captured

BATCHES = {"alexnet": 128, "overfeat": 128, "vgg:depth=11": 64, "googlenet": 128, "resnet:depth=50": 128,
           "resnet:depth=50,version=1.5": 128}


def conv(c, m, k, stride=1, pad=0):
    return [nn.Conv2d(c, m, k, stride, pad), nn.ReLU(inplace=True)]


def threshold():
    return nn.Threshold(0, 1e-6)


def alexnet():
    pool = lambda: nn.MaxPool2d(3, 2)
    return nn.Sequential(
        *conv(3, 64, 11, 4, 2), pool(), *conv(64, 192, 5, 1, 2), pool(), *conv(192, 384, 3, 1, 1),
        *conv(384, 256, 3, 1, 1), *conv(256, 256, 3, 1, 1), pool(), nn.Flatten(), nn.Linear(256 * 36, 4096), threshold(),
        nn.Linear(4096, 4096), threshold(), nn.Linear(4096, 1000))


def overfeat():
    pool = lambda: nn.MaxPool2d(2, 2)
    relu = lambda: nn.ReLU(inplace=True)
    return nn.Sequential(
        *conv(3, 96, 11, 4), pool(), *conv(96, 256, 5), pool(), *conv(256, 512, 3, 1, 1), *conv(512, 1024, 3, 1, 1),
        *conv(1024, 1024, 3, 1, 1), pool(), nn.Flatten(), nn.Linear(1024 * 36, 3072), relu(), nn.Linear(3072, 4096),
        relu(), nn.Linear(4096, 1000))


def vgg11():
    layers, c = [], 3
    for m in [64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0]:
        layers += conv(c, m, 3, 1, 1) if m else [nn.MaxPool2d(2, 2)]
        c = m or c
    relu = lambda: nn.ReLU(inplace=True)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 49, 4096), relu(), nn.Linear(4096, 4096), relu(),
                         nn.Linear(4096, 1000))


class Inception(nn.Module):
    def __init__(self, c, one, reduce3, three, reduce5, five, pool):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Sequential(*conv(c, one, 1)),
            nn.Sequential(*conv(c, reduce3, 1), *conv(reduce3, three, 3, 1, 1)),
            nn.Sequential(*conv(c, reduce5, 1), *conv(reduce5, five, 5, 1, 2)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), *conv(c, pool, 1))])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def googlenet():
    pool = lambda: nn.MaxPool2d(3, 2, 1)
    stages = [[(192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64)],
              [(480, 192, 96, 208, 16, 48, 64), (512, 160, 112, 224, 24, 64, 64), (512, 128, 128, 256, 24, 64, 64),
               (512, 112, 144, 288, 32, 64, 64), (528, 256, 160, 320, 32, 128, 128)],
              [(832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128)]]
    layers = [*conv(3, 64, 7, 2, 3), pool(), *conv(64, 64, 1), *conv(64, 192, 3, 1, 1), pool()]
    for i, stage in enumerate(stages):
        layers += ([pool()] if i else []) + [Inception(*widths) for widths in stage]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class Bottleneck(nn.Module):
    def __init__(self, c, maps, stride, late):
        super().__init__()
        def part(i, o, k, s):
            return [nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o)]
        relu = lambda: nn.ReLU(inplace=True)
        out = 4 * maps
        self.body = nn.Sequential(*part(c, maps, 1, 1 if late else stride), relu(),
                                  *part(maps, maps, 3, stride if late else 1), relu(), *part(maps, out, 1, 1))
        self.shortcut = nn.Sequential(*part(c, out, 1, stride)) if stride > 1 or c != out else None
        self.relu = relu()

    def forward(self, x):
        return self.relu(self.body(x) + (x if self.shortcut is None else self.shortcut(x)))


def resnet50(late):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    c = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        for i in range(blocks):
            layers.append(Bottleneck(c, 64 << stage, 2 if stage and i == 0 else 1, late))
            c = 4 * (64 << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


NETS = {"alexnet": alexnet, "overfeat": overfeat, "vgg:depth=11": vgg11, "googlenet": googlenet,
        "resnet:depth=50": lambda: resnet50(False), "resnet:depth=50,version=1.5": lambda: resnet50(True)}


def step_of(net, layout, compiled, images, labels, narrow):
    net = net.to("cuda", memory_format=layout)
    images = images.contiguous(memory_format=layout)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, fused=True)

    def loss_of(x, y):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=narrow):
            return nn.functional.cross_entropy(net(x), y)
    call = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        call(images, labels).backward()
        optimizer.step()
    return step


def median_ms(body, samples, repeats):
    for _ in range(3):
        body()
    times = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeats):
            body()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / repeats)
    return statistics.median(times)


def measure(name, batch, precision, layout, compiled, graph, args):
    torch.manual_seed(1)
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    side = 231 if name == "overfeat" else 224
    images = torch.randn(batch, 3, side, side, device="cuda")
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    step = step_of(NETS[name](), form, compiled, images, labels, precision == "bf16")
    ms = median_ms(captured(step) if graph else step, args.samples, args.repeats)
    return ms, torch.cuda.max_memory_reserved() - before, torch.cuda.max_memory_allocated()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default="alexnet;overfeat;vgg:depth=11;googlenet;resnet:depth=50",
                        help="separated by semicolons")
    parser.add_argument("--precision", default="tf32,bf16")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--layouts", default="nhwc,nchw")
    parser.add_argument("--batch", type=int, default=0, help="0: as published")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json")
    parser.add_argument("--count", action="store_true", help="print numbers of parameters and end")
    args = parser.parse_args()
    names = args.nets.split(";")
    if args.count:
        print(json.dumps({name: sum(p.numel() for p in NETS[name]().parameters()) for name in names}))
        return 0
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    until = time.monotonic() + args.seconds
    result = {"program": f"PyTorch {torch.__version__}", "device": torch.cuda.get_device_name(),
              "cudnn": torch.backends.cudnn.version(), "nets": []}
    items = {}
    # The cheap modes of every network first: a run cut short then misses compiled ones alone.
    for compiled in [False] if args.no_compile else [False, True]:
        for name in names:
            for precision in args.precision.split(","):
                batch = args.batch or BATCHES[name]
                item = items.setdefault((name, precision), {
                    "name": name, "precision": precision, "batch": batch, "ms": {}, "bytes": {}, "allocated": {},
                    "failed": {}, "skipped": [],
                    "parameters": sum(p.numel() for p in NETS[name]().parameters())})
                if item not in result["nets"]:
                    result["nets"].append(item)
                for layout in args.layouts.split(","):
                    # A compiled NCHW network is laid out by its compiler; one layout is enough there.
                    if compiled and layout != args.layouts.split(",")[0]:
                        continue
                    for graph in [True] if compiled else [False, True]:
                        mode = "+".join([layout] + (["compile"] if compiled else []) + (["graph"] if graph else []) +
                                        ([] if compiled or graph else ["eager"]))
                        if time.monotonic() > until:
                            item["skipped"].append(mode)
                            continue
                        try:
                            ms, held, used = measure(name, batch, precision, layout, compiled, graph, args)
                            item["ms"][mode], item["bytes"][mode], item["allocated"][mode] = ms, held, used
                            print(f"{name} {precision} {mode}: {ms:.3f} ms, {held / 2**30:.2f} GiB", file=sys.stderr,
                                  flush=True)
                        except Exception as error:  # one mode that fails must not cost the others
                            item["failed"][mode] = f"{type(error).__name__}: {error}"[:300]
                            print(f"{name} {precision} {mode}: {item['failed'][mode]}", file=sys.stderr, flush=True)
                        if args.json:
                            with open(args.json, "w") as file:
                                json.dump(result, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Times PyTorch on the networks and operators that `headroom bench` times, in every mode that makes it fast.

Writes one JSON object after every workload, so that a run cut short keeps what it has. Times are medians of samples
taken with CUDA events after a warm-up; a sample repeats its body until it is long enough to be timed. Data is random,
of the right shapes, and lies on the device throughout.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

IMAGES = 60000  # of one epoch
MLPS = [(512, 3000), (64, 3200), (100, 800)]
LENET_BATCH = 256
ECE408_IMAGES = 10000


def mlp(hidden):
    return nn.Sequential(nn.Linear(784, hidden), nn.Sigmoid(), nn.Linear(hidden, 10))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 120, 5), nn.ReLU(), nn.Flatten(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def ece408():
    return nn.Sequential(
        nn.Conv2d(1, 12, 7, bias=False), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 7, bias=False), nn.Flatten(),
        nn.Linear(24 * 27 * 27, 160), nn.Tanh(), nn.Linear(160, 10))


def parameters_of(net):
    return sum(p.numel() for p in net.parameters())


class Clock:
    """Seconds of body(): by events on a GPU, by the wall elsewhere."""

    def __init__(self, device, samples, sample_s):
        self.cuda, self.samples, self.sample_s = device == "cuda", samples, sample_s

    def once(self, body, repeats):
        if not self.cuda:
            begin = time.perf_counter()
            for _ in range(repeats):
                body()
            return (time.perf_counter() - begin) / repeats
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeats):
            body()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / repeats

    def median_ms(self, body):
        for _ in range(3):
            body()
        once = self.once(body, 1)
        repeats = max(1, min(1000, int(self.sample_s / max(once, 1e-6))))
        self.once(body, repeats)
        return 1e3 * statistics.median(self.once(body, repeats) for _ in range(self.samples))


def captured(body):
    """body as one CUDA graph, warmed up beside the default stream as PyTorch asks for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph.replay


def optimizer_of(net, device, momentum, l2):
    """The penalty is on weights alone, as in headroom."""
    weights = [p for p in net.parameters() if p.dim() > 1]
    biases = [p for p in net.parameters() if p.dim() == 1]
    groups = [{"params": weights, "weight_decay": l2}, {"params": biases, "weight_decay": 0.0}]
    if l2 == 0:
        groups = [{"params": weights + biases}]
    return torch.optim.SGD(groups, lr=1e-3, momentum=momentum, fused=device == "cuda")


def training(net, device, layout, compiled, images, labels, batch, momentum=0.0, l2=0.0):
    """A function that trains on all images once, in order: whole batches, then what is left."""
    net = net.to(device, memory_format=layout)
    optimizer = optimizer_of(net, device, momentum, l2)
    loss_of = lambda x, y: nn.functional.cross_entropy(net(x), y)
    if compiled:
        loss_of = torch.compile(loss_of, dynamic=False)
    batches = [(images[i:i + batch], labels[i:i + batch]) for i in range(0, len(images), batch)]

    def run():
        for x, y in batches:
            optimizer.zero_grad(set_to_none=True)
            loss_of(x, y).backward()
            optimizer.step()
    return run


def forward(net, device, layout, compiled, images):
    net = net.to(device, memory_format=layout).eval().requires_grad_(False)
    call = torch.compile(net, dynamic=False) if compiled else net

    def run():
        with torch.no_grad():
            call(images)
    return run


class Peers:
    def __init__(self, args):
        self.args, self.device = args, args.device
        self.clock = Clock(args.device, args.samples, args.sample_seconds)
        self.until = time.monotonic() + args.seconds
        self.result = {
            "program": f"PyTorch {torch.__version__}",
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu",
            "workloads": [], "operators": []}
        if self.device == "cuda":
            self.result["cuda"] = torch.version.cuda
            self.result["cudnn"] = torch.backends.cudnn.version()

    def write(self):
        if self.args.json:
            with open(self.args.json, "w") as file:
                json.dump(self.result, file, indent=2)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def random(self, *shape, layout=torch.contiguous_format):
        return torch.randn(*shape, device=self.device).contiguous(memory_format=layout)

    def modes(self, layouts):
        for layout in layouts:
            for graph in [False] + ([True] if self.device == "cuda" else []):
                yield layout, self.compiled, graph

    def item_of(self, name, batch, figure, make_net):
        key = {"name": name, "batch": batch, "figure": figure, "precision": self.precision}
        for item in self.result["workloads"]:
            if all(item[k] == v for k, v in key.items()):
                return item
        item = {**key, "parameters": parameters_of(make_net()), "ms": {}, "failed": {}, "skipped": []}
        self.result["workloads"].append(item)
        return item

    def workload(self, name, batch, figure, make_net, make_body, layouts):
        """Times make_body(net, layout, compiled) in every mode; the fastest one counts."""
        item = self.item_of(name, batch, figure, make_net)
        for layout, compiled, graph in self.modes(layouts):
            mode = "+".join(
                ([layout] if layout else []) +
                (["compile"] if compiled else []) + (["graph"] if graph else []) +
                ([] if compiled or graph else ["eager"]))
            if time.monotonic() > self.until:
                item["skipped"].append(mode)
                continue
            try:
                torch.manual_seed(1)
                torch._dynamo.reset()
                format = torch.channels_last if layout == "nhwc" else torch.contiguous_format
                body = make_body(make_net(), format, compiled)
                ms = self.clock.median_ms(captured(body) if graph else body)
                item["ms"][mode] = ms
                self.say(f"{self.precision} {name} {figure} {mode}: {ms:.4f} ms")
            except Exception as error:  # one mode that PyTorch cannot do must not cost the others
                item["failed"][mode] = f"{type(error).__name__}: {error}"[:500]
                self.say(f"{self.precision} {name} {figure} {mode}: {item['failed'][mode]}")
            finally:
                body = None
                if self.device == "cuda":
                    torch.cuda.synchronize()
                    torch.cuda.empty_cache()
            self.write()
        if item["ms"]:
            item["best"] = min(item["ms"], key=item["ms"].get)
            item["best_ms"] = item["ms"][item["best"]]
        self.write()

    def nets(self, precision, compiled):
        self.precision, self.compiled = precision, compiled
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        images, labels = self.random(self.args.images, 784), torch.randint(0, 10, (self.args.images,),
                                                                           device=self.device)
        for hidden, batch in MLPS:
            self.workload(
                f"mlp:hidden={hidden}", batch, "epoch", lambda: mlp(hidden),
                lambda net, layout, compiled: training(net, self.device, layout, compiled, images, labels, batch,
                                                       l2=1e-4), [""])
        del images, labels
        labels = torch.randint(0, 10, (LENET_BATCH,), device=self.device)
        self.workload(
            "lenet5", LENET_BATCH, "step", lenet5,
            lambda net, layout, compiled: training(
                net, self.device, layout, compiled, self.random(LENET_BATCH, 1, 32, 32, layout=layout), labels,
                LENET_BATCH, momentum=0.9), ["nchw", "nhwc"])
        count = self.args.forward_images
        self.workload(
            "ece408", count, "forward", ece408,
            lambda net, layout, compiled: forward(net, self.device, layout, compiled,
                                                  self.random(count, 1, 72, 72, layout=layout)), ["nchw", "nhwc"])

    def operators(self):
        n = self.args.elements
        a, b = self.random(n), self.random(n)
        bodies = {"add": (3, lambda: torch.add(a, b)), "relu": (2, lambda: torch.relu(a)),
                  "gelu": (2, lambda: nn.functional.gelu(a)), "sigmoid": (2, lambda: torch.sigmoid(a))}
        for name, (tensors, body) in bodies.items():
            ms = self.clock.median_ms(body)
            rate = 4e-9 * tensors * n / (ms * 1e-3)
            self.result["operators"].append({"operator": name, "elements": n, "ms": ms, "gb_per_s": rate})
            self.say(f"{name}: {ms:.4f} ms, {rate:.1f} GB/s")
            self.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--precision", default="fp32,tf32", help="fp32, tf32 or both")
    parser.add_argument("--json", help="file for the result; else standard output")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    parser.add_argument("--no-nets", dest="with_nets", action="store_false")
    parser.add_argument("--no-operators", dest="with_operators", action="store_false")
    parser.add_argument("--seconds", type=float, default=480, help="no further mode is begun after so long")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--sample-seconds", type=float, default=0.02, help="least length of one sample")
    parser.add_argument("--images", type=int, default=IMAGES, help="of an epoch; fewer to try this script out")
    parser.add_argument("--forward-images", type=int, default=ECE408_IMAGES)
    parser.add_argument("--elements", type=int, default=100_000_000, help="of a tensor of the operators")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu runs the same code on the processor")
    torch.backends.cudnn.benchmark = True
    peers = Peers(args)
    if args.with_operators:
        peers.operators()
    if args.with_nets:
        # What is quick comes first for all: a run cut short then lacks some compiled modes, but no network.
        for compiled in [False] + ([True] if args.compile else []):
            for precision in args.precision.split(","):
                peers.nets(precision, compiled)
    peers.write()
    if not args.json:
        print(json.dumps(peers.result, indent=2))


if __name__ == "__main__":
    main()

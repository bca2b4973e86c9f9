#!/usr/bin/env python3
"""The networks of cpu_nets in PyTorch on a CPU, in every mode that may make them fast.

Reads a number of seconds from standard input, times every mode for so long, writes one line of JSON, and so on until
the input ends; 0 seconds answer at once. Modes that fail are left out, and so are those that take over three times as
long as the fastest: they cannot win, and would take most of the time. `--memory MODE` runs that mode three times and
writes the peak of this process instead.
"""
import argparse
import copy
import json
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.nn.functional as F

from torch_cpu_models import batch_of, build

LAST = dict(memory_format=torch.channels_last)
TOO_SLOW = 3  # times the fastest mode


def forward_modes(net, x, compiled):
    """Mode name to a function that makes what runs once."""

    def frozen(m, images, optimised=False):
        m = torch.jit.freeze(torch.jit.trace(m, images))
        return torch.jit.optimize_for_inference(m) if optimised else m

    def run(m, images, onednn=True):
        def once():
            with torch.inference_mode(), torch.backends.mkldnn.flags(enabled=onednn):
                m(images)
        return once

    net = net.eval()
    own = lambda: copy.deepcopy(net)
    modes = {"eager": lambda: run(net, x), "eager, no oneDNN": lambda: run(net, x, False),
             "frozen": lambda: run(frozen(own(), x), x), "optimised": lambda: run(frozen(own(), x, True), x)}
    if x.dim() == 4:
        modes["channels last"] = lambda: run(own().to(**LAST), x.to(**LAST))
        modes["frozen, channels last"] = lambda: run(frozen(own().to(**LAST), x.to(**LAST)), x.to(**LAST))
    if compiled:
        modes["compiled"] = lambda: run(torch.compile(own(), dynamic=False), x)
        if x.dim() == 4:
            modes["compiled, channels last"] = lambda: run(torch.compile(own().to(**LAST), dynamic=False), x.to(**LAST))
    return modes


def step_modes(net, x, labels, compiled):
    def stepping(m, images, is_compiled=False):
        m = m.train()
        update = torch.optim.SGD(m.parameters(), lr=1e-6, momentum=0.9, fused=True)
        loss_of = lambda: F.cross_entropy(m(images).flatten(0, -2), labels.flatten())
        loss = torch.compile(loss_of, dynamic=False) if is_compiled else loss_of

        def once():
            update.zero_grad()
            loss().backward()
            update.step()
        return once

    own = lambda: copy.deepcopy(net)
    modes = {"step": lambda: stepping(own(), x)}
    if x.dim() == 4:
        modes["step, channels last"] = lambda: stepping(own().to(**LAST), x.to(**LAST))
    if compiled:
        modes["step, compiled"] = lambda: stepping(own(), x, True)
        if x.dim() == 4:
            modes["step, compiled, channels last"] = lambda: stepping(own().to(**LAST), x.to(**LAST), True)
    return modes


def made(modes):
    """Those that run, after three runs."""
    ready, fastest = {}, {}
    for name, make in modes.items():
        try:
            with torch.inference_mode(not name.startswith("step")):
                once = make()
            fastest[name] = min(run_seconds(once) for _ in range(3))
            ready[name] = once
        except Exception as error:  # a compiler raises whatever it likes
            print(f"{name}: {(str(error).splitlines() or ['failed'])[0]}", file=sys.stderr)
    return {name: once for name, once in ready.items() if keeps_up(name, fastest)}


def run_seconds(once):
    start = time.perf_counter()
    once()
    return time.perf_counter() - start


def keeps_up(name, fastest):
    """Whether a mode may be the fastest of its kind: forward or step."""
    best = min(s for other, s in fastest.items() if other.startswith("step") == name.startswith("step"))
    if fastest[name] <= TOO_SLOW * best:
        return True
    print(f"{name}: left out, {1e3 * fastest[name]:.1f} ms beside {1e3 * best:.1f}", file=sys.stderr)
    return False


def timed(once, seconds):
    samples, total = [], 0
    once()
    while total < seconds or len(samples) < 3:
        samples.append(1e3 * run_seconds(once))
        total += samples[-1] / 1e3
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", default="forward", help="forward, step or both: forward,step")
    parser.add_argument("--compile", action="store_true", help="also torch.compile, which takes minutes")
    parser.add_argument("--memory", metavar="MODE")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    net, (x, labels) = build(args.network), batch_of(args.network, args.batch)
    modes = forward_modes(net, x, args.compile) if "forward" in args.kinds else {}
    if "step" in args.kinds:
        modes.update(step_modes(net, x, labels, args.compile))
    if args.memory:
        made({args.memory: modes[args.memory]})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        return
    modes = made(modes)
    for line in sys.stdin:
        seconds = float(line)
        ms = {name: timed(once, seconds) for name, once in modes.items()} if seconds > 0 else {}
        print(json.dumps({"parameters": sum(p.numel() for p in net.parameters()), "ms": ms}), flush=True)


if __name__ == "__main__":
    main()

"""LeNet-5 in PyTorch on a GPU: times training steps and prints one JSON object. For bench/peers/profiler."""
import argparse
import contextlib
import json
import os
import statistics
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # the same losses in every run

import torch
from torch import nn


def lenet5():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Conv2d(16, 120, 5), nn.ReLU(), nn.Flatten(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss
    return replay


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--graph", action="store_true", help="capture the step in a CUDA graph")
    parser.add_argument("--profiler", action="store_true", help="record the timed steps with torch.profiler")
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    net = lenet5().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(args.batch, 1, 28, 28, device="cuda")
    labels = torch.randint(0, 10, (args.batch,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    run = captured(step) if args.graph else step
    for _ in range(50):
        run()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    watch = torch.profiler.profile(activities=activities) if args.profiler else contextlib.nullcontext()
    times = []
    with watch:
        for _ in range(args.steps // 10):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(10):
                loss = run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) / 10)
    result = {"step_s": statistics.median(times), "loss": float(loss)}
    if args.profiler:  # a graph that was made before the profiler began may hide its kernels from it
        on_gpu = sum(str(event.device_type).endswith("CUDA") for event in watch.events())
        result["records_per_step"] = on_gpu / args.steps
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

"""The loop that all four networks share: a training on random images, timed step by step."""
import argparse
import statistics
import time

import torch


def scaled(maps, width):
    """Maps at another width, as headroom's networks have them: a multiple of 8, at most 10 % below."""
    if width == 1:
        return maps
    nearest = max(8, int(maps * width + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * maps * width else nearest


def captured(step):
    """The step as one CUDA graph, after some steps that load and choose kernels."""
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


def train(make_network, side):
    words = argparse.ArgumentParser(description="Train a network on random images and print the time of a step.")
    words.add_argument("--batch", type=int, default=64)
    words.add_argument("--steps", type=int, default=60)
    words.add_argument("--input", type=int, default=side, help="pixels of a side")
    words.add_argument("--width", type=float, default=1, help="share of the channels")
    words.add_argument("--channels", type=int, default=3, help="of an image")
    words.add_argument("--classes", type=int, default=1000)
    words.add_argument("--threads", type=int, default=0, help="of a CPU; 0: all")
    words.add_argument("--graph", action="store_true", help="on a GPU: capture the step in a CUDA graph")
    words.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = words.parse_args()
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # fp32, as headroom
    device = torch.device(options.device)
    network = make_network(options.channels, lambda maps: scaled(maps, options.width), options.classes).to(device)
    images = torch.randn(options.batch, options.channels, options.input, options.input, device=device)
    network(images[:1])  # gives lazy layers their size
    labels = torch.randint(options.classes, (options.batch,), device=device)
    loss_of = torch.nn.CrossEntropyLoss()
    update = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9)

    def step():
        update.zero_grad()
        loss = loss_of(network(images), labels)
        loss.backward()
        update.step()
        return loss

    run = captured(step) if options.graph and device.type == "cuda" else step
    seconds = []
    for _ in range(options.steps):
        begin = time.perf_counter()
        loss = run()
        loss.item()  # waits for the device
        seconds.append(time.perf_counter() - begin)
    parameters = sum(p.numel() for p in network.parameters())
    warm = seconds[len(seconds) // 4:]
    print(f"parameters {parameters} step_ms {1e3 * statistics.median(warm):.3f} loss {loss.item():.4f}")

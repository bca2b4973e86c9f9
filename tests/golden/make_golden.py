#!/usr/bin/env python3
"""Writes the golden numbers of this folder: PyTorch's results in fp64 for a few networks.

    pip install torch==2.5.1 numpy && python tests/golden/make_golden.py

The tests read only the JSON files; they need neither Python nor torch. README.md beside this script describes
the files and the conventions of loss and optimiser.
"""

import pathlib

import numpy as np
import torch
import torch.nn.functional as F

import networks
import operators
from formula import MASK, digest, digests, labels, parameter, unit, units, write_lines

MADE_BY = f"tests/golden/make_golden.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
SMALL_STEPS, ZOO_STEPS = 10, 3
SETTINGS = {
    "sgd": {"lr": 0.05},
    "momentum": {"lr": 0.05, "momentum": 0.9},
    "nesterov_l2": {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
}
# Written to a separate file, for one small network: name, torch's class, its options.
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
MOST_LOGITS = 200  # more become a digest


def name_of(network):
    return getattr(network, "name", network.__name__.lower())


def has_pixels(network):
    return getattr(network, "pixels", False)


def batch_of(network):
    values = units(0, network.input_shape)
    return torch.floor((values + 1) * 128) if has_pixels(network) else values


def build(network):
    net = network().double()
    with torch.no_grad():
        for tensor, p in enumerate(net.parameters(), start=1):
            p.copy_(parameter(tensor, tuple(p.shape)))
        if has_pixels(network):
            next(net.parameters()).div_(128)  # otherwise every tanh would saturate
    return net


def loss_of(network, outputs, batch):
    """Cross-entropy; without classes, the mean squared distance to the network's own input."""
    if network.classes is None:
        return F.mse_loss(outputs, batch)
    return F.cross_entropy(outputs, torch.from_numpy(labels(len(batch), network.classes)))


def train(network, setting, kind="SGD", steps=SMALL_STEPS):
    """Steps on one batch: the loss before each, and the parameters after the last."""
    net, batch = build(network), batch_of(network)
    options = dict(setting)
    decay = options.pop("weight_decay", 0.0)
    weights = [p for p in net.parameters() if p.dim() > 1]
    biases = [p for p in net.parameters() if p.dim() == 1]
    groups = [{"params": weights, "weight_decay": decay}, {"params": biases, "weight_decay": 0.0}]
    optimizer = getattr(torch.optim, kind)(groups, **options)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(network, net(batch), batch)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return {"setting": setting, "losses": losses, "parameters": digests(net.named_parameters())}


def golden(network, settings, steps):
    batch = batch_of(network)
    net = build(network)
    logits = net(batch)
    loss = loss_of(network, logits, batch)
    loss.backward()
    points = [[t, i, float(unit(t, np.array([i & MASK], dtype=np.uint64))[0])] for t, i in FORMULA_POINTS]
    record = {"network": name_of(network), "made_by": MADE_BY}
    if network.classes is not None:
        chosen = labels(len(batch), network.classes).tolist()
        record |= {"formula": {"values": points, "labels": chosen}, "classes": network.classes}
    if has_pixels(network):
        record["pixels"] = True
    return record | {
        "input": list(network.input_shape),
        "shapes": {name: list(p.shape) for name, p in net.named_parameters()},
        "initial": digests(net.named_parameters()),
        "logits": logits.tolist() if logits.numel() <= MOST_LOGITS else digest(logits),
        "loss": loss.item(),
        "gradients": digests((name, p.grad) for name, p in net.named_parameters()),
        "training": {name: train(network, s, steps=steps) for name, s in settings.items()},
    }


def golden_optimizers(network):
    """Ten steps of each optimizer except those in SETTINGS, on one network."""
    return {
        "network": name_of(network),
        "made_by": MADE_BY,
        "training": {name: train(network, s, kind) for name, (kind, s) in OPTIMIZERS.items()},
    }


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    records = {name_of(network): golden(network, SETTINGS, SMALL_STEPS) for network in networks.SMALL}
    for network in networks.ZOO:
        setting = {"sgd": {"lr": getattr(network, "rate", 0.05)}}
        records[name_of(network)] = golden(network, setting, ZOO_STEPS)
    records["optimizers"] = golden_optimizers(networks.Mixed)
    records["operators"] = {"made_by": MADE_BY} | operators.every_operator()
    records["batch_norm"] = {"made_by": MADE_BY} | operators.batch_norm_steps()
    folder = pathlib.Path(__file__).resolve().parent
    for name, record in records.items():
        path = folder / f"{name}.json"
        path.write_text(write_lines(record) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

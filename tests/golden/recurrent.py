#!/usr/bin/env python3
"""Writes recurrent.json: PyTorch's results in fp64 for small recurrent networks, ten steps of training each.

    pip install torch numpy && python tests/golden/recurrent.py

The layers are torch's own; weights come under our names and in our order of gates. README.md describes inputs and
digests.
"""

import pathlib

import torch
import torch.nn.functional as F

from formula import digest, digests, labels, parameter, units, write_lines

MADE_BY = f"tests/golden/recurrent.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
FIRST_LABEL = 1000  # labels continue after the tokens, at a distance
STEPS, RATE = 10, 0.5

# For each cell, where torch's gates are among ours: lstm i, o, f, g and gru z, r, n.
GATES = {"lstm": [0, 2, 3, 1], "gru": [1, 0, 2], "plain": [0]}


def in_torchs_order(cell, x):
    """x is [gates hidden, ...]."""
    parts = x.chunk(len(GATES[cell]))
    return torch.cat([parts[g] for g in GATES[cell]])


class Network:
    def __init__(self, cell, batch, classes, hidden, layers=1, both=False, image=None, text=None):
        self.cell, self.batch, self.classes, self.hidden, self.layers, self.both = cell, batch, classes, hidden, layers, both
        self.image, self.text = image, text
        options = f"rnn:cell={cell},hidden={hidden},layers={layers}" + (",bidirectional=on" if both else "")
        if text:
            self.model = f"{options},data=text,context={text[0]},width={text[1]},vocab={classes}"
        else:
            channels, rows, columns = image
            self.model = f"{options},channels={channels},input={rows}x{columns},classes={classes}"

    def shapes(self):
        dirs, rows = 1 + self.both, len(GATES[self.cell]) * self.hidden
        s = {"tokens.weight": [self.classes, self.text[1]]} if self.text else {}
        width = self.text[1] if self.text else self.image[0] * self.image[2]
        for k in range(1, self.layers + 1):
            name = "cells." + (f"{k}." if self.layers > 1 else "")
            s |= {f"{name}input.weight": [dirs, rows, width], f"{name}state.weight": [dirs, rows, self.hidden],
                  f"{name}bias": [dirs, 2 * rows]}
            width = dirs * self.hidden
        return s | {"out.weight": [self.classes, width], "out.bias": [self.classes]}

    def batch_of(self):
        if self.text:
            return torch.from_numpy(labels(self.batch * self.text[0], self.classes)).view(self.batch, self.text[0])
        return units(0, (self.batch, *self.image))

    def labels(self):
        each = self.text[0] if self.text else 1
        return torch.from_numpy(labels(self.batch * each, self.classes, FIRST_LABEL))

    def cells(self, p, x):
        weights = []
        for k in range(1, self.layers + 1):
            name = "cells." + (f"{k}." if self.layers > 1 else "")
            for d in range(1 + self.both):
                bias = p[f"{name}bias"][d].chunk(2)
                weights += [in_torchs_order(self.cell, t)
                            for t in (p[f"{name}input.weight"][d], p[f"{name}state.weight"][d], *bias)]
        states = torch.zeros((1 + self.both) * self.layers, self.batch, self.hidden, dtype=x.dtype)
        options = (True, self.layers, 0.0, True, self.both, True)  # bias, layers, dropout, train, both, batch first
        if self.cell == "lstm":
            y, h, _ = torch._VF.lstm(x, (states, states), weights, *options)
        else:
            y, h = (torch._VF.gru if self.cell == "gru" else torch._VF.rnn_tanh)(x, states, weights, *options)
        return y, torch.cat(list(h[-(1 + self.both):]), 1)  # the last layer's, forward first

    def forward(self, p, batch):
        if self.text:
            x = self.cells(p, p["tokens.weight"][batch])[0].reshape(-1, self.hidden)
        else:
            x = self.cells(p, batch.transpose(1, 2).flatten(2))[1]
        return F.linear(x, p["out.weight"], p["out.bias"])


def network(net):
    names = net.shapes()
    p = {name: parameter(i, tuple(shape)).requires_grad_() for i, (name, shape) in enumerate(names.items(), 1)}
    batch, wanted = net.batch_of(), net.labels()
    record = {"model": net.model, "batch": net.batch, "classes": net.classes, "shapes": names}
    losses = []
    for step in range(STEPS):
        logits = net.forward(p, batch)
        loss = F.cross_entropy(logits, wanted)
        grads = torch.autograd.grad(loss, list(p.values()))
        losses.append(loss.item())
        if step == 0:
            record |= {"logits": digest(logits), "gradients": digests(zip(names, grads))}
        with torch.no_grad():
            for x, g in zip(p.values(), grads):
                x -= RATE * g
    return record | {"rate": RATE, "losses": losses, "parameters": digests(p.items())}


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    networks = {"lstm": Network("lstm", 3, 5, 6, layers=2, both=True, image=(2, 7, 4)),
                "gru": Network("gru", 4, 3, 5, layers=2, both=True, image=(1, 6, 8)),
                "plain": Network("plain", 3, 4, 7, layers=3, image=(1, 9, 5)),
                "lstm_text": Network("lstm", 2, 13, 6, text=(8, 5)),
                "gru_text": Network("gru", 2, 11, 9, layers=2, text=(10, 6)),
                "plain_text": Network("plain", 3, 7, 5, text=(6, 4))}
    record = {"made_by": MADE_BY, "networks": {name: network(net) for name, net in networks.items()}}
    path = pathlib.Path(__file__).resolve().parent / "recurrent.json"
    path.write_text(write_lines(record) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

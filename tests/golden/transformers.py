#!/usr/bin/env python3
"""Writes transformers.json: PyTorch's results in fp64 for attention, a small ViT and a small GPT-2.

    pip install torch==2.5.1 numpy && python tests/golden/transformers.py

The networks are functions of their parameters, by name; attention is torch's own
scaled_dot_product_attention. README.md describes inputs and digests.
"""

import pathlib

import torch
import torch.nn.functional as F

from formula import digest, digests, labels, parameter, units, write_lines

MADE_BY = f"tests/golden/transformers.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
FIRST_LABEL = 1000  # labels continue after the tokens, at a distance
STEPS, RATE = 4, 0.1

# batch, time, heads, width, causal, scale (None: the default)
ATTENTION = [(2, 7, 3, 5, False, None), (2, 7, 3, 5, True, None), (1, 70, 2, 16, True, 0.2),
             (1, 130, 1, 33, False, None), (1, 300, 1, 8, True, None)]


def attention(qkv, heads, causal, scale=None):
    batch, time, columns = qkv.shape
    q, k, v = qkv.view(batch, time, 3, heads, columns // (3 * heads)).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    return y.transpose(1, 2).reshape(batch, time, columns // 3)


def attention_case(case):
    batch, time, heads, width, causal, scale = case
    qkv = (units(1, (batch, time, 3 * heads * width)) * 2).requires_grad_()
    y = attention(qkv, heads, causal, scale)
    y.backward(units(2, y.shape))
    record = {"qkv": list(qkv.shape), "heads": heads, "causal": causal}
    if scale is not None:
        record["scale"] = scale
    return record | {"y": digest(y), "dqkv": digest(qkv.grad)}


def block_shapes(name, width, hidden):
    return {f"{name}.norm1.weight": [width], f"{name}.norm1.bias": [width],
            f"{name}.attention.qkv.weight": [3 * width, width], f"{name}.attention.qkv.bias": [3 * width],
            f"{name}.attention.out.weight": [width, width], f"{name}.attention.out.bias": [width],
            f"{name}.norm2.weight": [width], f"{name}.norm2.bias": [width],
            f"{name}.fc1.weight": [hidden, width], f"{name}.fc1.bias": [hidden],
            f"{name}.fc2.weight": [width, hidden], f"{name}.fc2.bias": [width]}


def layer_norm(p, name, x, epsilon):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p[f"{name}.bias"], epsilon)


def linear(p, name, x):
    return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])


def block(p, name, x, heads, causal, approximate, epsilon):
    qkv = linear(p, f"{name}.attention.qkv", layer_norm(p, f"{name}.norm1", x, epsilon))
    x = x + linear(p, f"{name}.attention.out", attention(qkv, heads, causal))
    hidden = F.gelu(linear(p, f"{name}.fc1", layer_norm(p, f"{name}.norm2", x, epsilon)), approximate=approximate)
    return x + linear(p, f"{name}.fc2", hidden)


class Gpt2:
    model = "gpt2:width=12,heads=3,depth=2,context=9,vocab=17"
    batch, time, classes = 2, 9, 17

    def shapes(self):
        s = {"tokens.weight": [17, 12], "positions.weight": [9, 12]}
        for i in (1, 2):
            s |= block_shapes(f"block{i}", 12, 48)
        return s | {"norm.weight": [12], "norm.bias": [12]}

    def batch_of(self):
        return torch.from_numpy(labels(self.batch * self.time, self.classes)).view(self.batch, self.time)

    def labels(self):
        return torch.from_numpy(labels(self.batch * self.time, self.classes, FIRST_LABEL))

    def forward(self, p, ids):
        x = p["tokens.weight"][ids] + p["positions.weight"]
        for i in (1, 2):
            x = block(p, f"block{i}", x, 3, True, "tanh", 1e-5)
        return F.linear(layer_norm(p, "norm", x, 1e-5), p["tokens.weight"]).view(-1, self.classes)


class Vit:
    model = "vit:width=12,heads=2,depth=2,hidden=20,patch=4,input=8x12,channels=3,classes=5"
    batch, classes, mean = 3, 5, False

    def shapes(self):
        s = {"patch.weight": [12, 3, 4, 4], "patch.bias": [12]}
        if not self.mean:
            s |= {"class.weight": [1, 1, 12]}
        s |= {"positions.weight": [6 if self.mean else 7, 12]}
        for i in (1, 2):
            s |= block_shapes(f"block{i}", 12, 20)
        return s | {"norm.weight": [12], "norm.bias": [12], "head.weight": [5, 12], "head.bias": [5]}

    def batch_of(self):
        return units(0, (self.batch, 3, 8, 12))

    def labels(self):
        return torch.from_numpy(labels(self.batch, self.classes, FIRST_LABEL))

    def forward(self, p, images):
        x = F.conv2d(images, p["patch.weight"], p["patch.bias"], stride=4).flatten(2).transpose(1, 2)
        if not self.mean:
            x = torch.cat([p["class.weight"].expand(self.batch, 1, 12), x], 1)
        x = x + p["positions.weight"]
        for i in (1, 2):
            x = block(p, f"block{i}", x, 2, False, "none", 1e-6)
        x = layer_norm(p, "norm", x, 1e-6)
        return linear(p, "head", x.mean(1) if self.mean else x[:, 0])


class VitMean(Vit):
    model, mean = Vit.model + ",pool=mean", True


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
    record = {"made_by": MADE_BY, "attention": {str(i): attention_case(c) for i, c in enumerate(ATTENTION)},
              "networks": {"gpt2": network(Gpt2()), "vit": network(Vit()), "vit_mean": network(VitMean())}}
    path = pathlib.Path(__file__).resolve().parent / "transformers.json"
    path.write_text(write_lines(record) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""Two graphs of make_golden.py that are not in the zoo: one with every operator, and a network with batch
normalisation over several training steps. tests/golden_operators_test.cc builds the first, and
tests/golden_batch_norm_test.cc the second, in the same order."""

import torch
import torch.nn.functional as F
from torch import nn

from formula import digest, digests, labels, parameter, units

# name: shape, scale, offset. Element i of the n-th is unit(n, i) * scale + offset, n from 0.
LEAVES = {
    "x": ((2, 6, 7, 9), 1, 0),
    "conv.weight": ((8, 6, 3, 3), 0.2, 0),
    "conv.bias": ((8,), 0.1, 0),
    "bn.weight": ((8,), 0.3, 1),
    "bn.bias": ((8,), 0.2, 0),
    "bn.running_mean": ((8,), 0.2, 0),
    "bn.running_var": ((8,), 0.3, 1),
    "fixed.weight": ((8,), 0.3, 1),
    "fixed.bias": ((8,), 0.2, 0),
    "fixed.mean": ((8,), 0.2, 0),
    "fixed.var": ((8,), 0.3, 1),
    "table": ((11, 12), 1, 0),
    "ln.weight": ((12,), 0.3, 1),
    "ln.bias": ((12,), 0.2, 0),
    "heads.weight": ((3, 12, 4), 0.3, 0),
    "masked": ((1,), 0.5, -2),
    "mix.weight": ((12, 12), 0.5, 0),
    "mix.bias": ((12,), 0.2, 0),
    "exponent": ((12,), 0.5, 1.5),
    "divisor": ((5, 1), 0.3, 2),
    "wanted": ((2, 5, 12), 1, 1),
    "out.weight": ((7, 148), 0.1, 0),
    "out.bias": ((7,), 0.1, 0),
    "target": ((2, 7), 1, 0),
}
STATISTICS = ("bn.running_mean", "bn.running_var", "fixed.mean", "fixed.var")


def picture(v, keep):
    """The operators of convolutional networks: 2x6x7x9 to 2x112."""
    a = keep("conv", F.conv2d(v["x"], v["conv.weight"], v["conv.bias"], padding=1))
    a = F.leaky_relu(a, 0.1)
    a = keep("bn", F.batch_norm(a, v["bn.running_mean"], v["bn.running_var"], v["bn.weight"], v["bn.bias"],
                                training=True, momentum=0.1, eps=1e-5))
    a = keep("lrn", F.local_response_norm(a, 3, alpha=0.3, beta=0.75, k=2.0))
    a = F.pad(a, (2, 1, 1, 2), mode="reflect")
    a = F.pad(a, (0, 2, 1, 0), mode="replicate")
    a = keep("pad", F.pad(a, (1, -1, 0, 1), value=0.5))  # 2x8x12x14
    a = keep("fixed", F.batch_norm(a, v["fixed.mean"], v["fixed.var"], v["fixed.weight"], v["fixed.bias"],
                                   eps=1e-3))
    a = keep("slice", a[:, :, 1:12:2, [12, 9, 6, 3, 0]])
    c, d, e = torch.split(a, [3, 3, 2], dim=1)
    c, d, e = F.elu(c, 0.7), F.gelu(d), F.gelu(e, approximate="tanh")
    a = keep("concat", torch.cat([e, c, d], dim=1))
    a = keep("clip", torch.clip(F.hardswish(a), -0.3, 1.2))
    a = keep("bilinear", F.interpolate(a, size=(9, 8), mode="bilinear", align_corners=False))
    a = keep("nearest", F.interpolate(a, size=(5, 7), mode="nearest"))
    pooled = [F.adaptive_avg_pool2d(a, (3, 2)), F.adaptive_max_pool2d(a, (2, 3)),
              a.mean(dim=(2, 3)), a.amax(dim=(2, 3))]
    return keep("pooled", torch.cat([p.flatten(1) for p in pooled], dim=1))


def sentence(v, keep, tokens):
    """The operators of attention, and functions of one element: 2x5 numbers to 2x5x12."""
    t = F.layer_norm(v["table"][tokens], (12,), v["ln.weight"], v["ln.bias"], 1e-5)
    q = keep("heads", torch.matmul(t.reshape(2, 1, 5, 12), v["heads.weight"]))
    r = torch.matmul(q, q.transpose(2, 3)) * 0.5
    r = torch.where(torch.ones(5, 5).tril().bool(), r, v["masked"])
    o = torch.matmul(keep("softmax", torch.softmax(r, dim=-1)), q)
    o = F.linear(o.permute(0, 2, 1, 3).reshape(2, 5, 12), v["mix.weight"], v["mix.bias"])
    o = keep("cast", o.float().double())
    z = keep("pow", torch.pow(torch.exp(torch.erf(o)), v["exponent"]))
    z = z / v["divisor"] - o
    return keep("sqrt", torch.sqrt(z * z + 1))


def every_operator():
    v = {name: units(n, shape) * scale + offset for n, (name, (shape, scale, offset)) in enumerate(LEAVES.items())}
    learned = [name for name in LEAVES if name not in STATISTICS]
    for name in learned:
        v[name].requires_grad_()
    values = {}

    def keep(name, value):
        values[name] = value
        return value

    tokens = labels(10, 11)
    z = sentence(v, keep, torch.from_numpy(tokens.reshape(2, 5)))
    parts = [picture(v, keep), z.sum(dim=1), z.mean(dim=1), z.amax(dim=1)]
    logits = keep("logits", F.linear(torch.cat(parts, dim=1), v["out.weight"], v["out.bias"]))
    scores = keep("log_softmax", F.log_softmax(logits, dim=-1))
    loss = keep("loss", F.mse_loss(z, v["wanted"]) + (scores * v["target"]).sum())
    loss.backward()
    return {
        "leaves": {name: {"shape": list(s), "scale": c, "offset": o} for name, (s, c, o) in LEAVES.items()},
        "tokens": tokens.tolist(),
        "values": digests(values.items()),
        "statistics": {name: v[name].tolist() for name in STATISTICS},
        "gradients": digests((name, v[name].grad) for name in learned),
    }


class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 5, 3)
        self.bn2 = nn.BatchNorm2d(5)
        self.out = nn.Linear(5 * 4 * 3, 6)

    def forward(self, x):
        x = torch.tanh(self.bn1(self.conv1(x)))
        x = torch.sigmoid(self.bn2(self.conv2(x)))
        return self.out(x.flatten(1))


def batch_norm_steps(steps=5, batch=6, classes=6):
    """Each step has its own images and labels, so that the statistics keep changing."""
    net = Normalized().double()
    with torch.no_grad():
        for tensor, (name, p) in enumerate(net.named_parameters(), start=1):
            if not name.startswith("bn"):  # these start with 1 and 0
                p.copy_(parameter(tensor, tuple(p.shape)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    images = lambda step: units(100 + step, (batch, 2, 8, 7)) * 2 + 0.1 * step
    chosen = lambda step: torch.from_numpy(labels(batch, classes, batch * step))
    record = {"batch": batch, "classes": classes, "lr": 0.1, "momentum": 0.9, "steps": {}}
    record["shapes"] = {name: list(p.shape) for name, p in net.named_parameters()}
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images(step)), chosen(step))
        loss.backward()
        optimizer.step()
        running = {name: b.tolist() for name, b in net.named_buffers() if "running" in name}
        record["steps"][str(step)] = {"loss": loss.item()} | running
    net.eval()
    logits = net(images(steps))
    record["parameters"] = digests(net.named_parameters())
    return record | {"logits": digest(logits), "loss": F.cross_entropy(logits, chosen(steps)).item()}

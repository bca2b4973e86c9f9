"""Normalisations, constants that are not trained, and operators that few networks use."""

import torch
import torch.nn.functional as F
from torch import nn

from attention import SEQUENCE, Pooled
from network import add, network
from pictures import PICTURE, head
from sequences import RmsNorm

ROWS = (5, 12)

add("group_norm", lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.Conv2d(6, 6, 3),
                                        nn.GroupNorm(2, 6, affine=False), nn.ReLU(), head(6)), PICTURE)
add("group_norm_fresh", lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.Conv2d(6, 6, 3),
                                              nn.GroupNorm(2, 6), nn.ReLU(), head(6)), PICTURE, fresh=True)
add("instance_norm", lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.ReLU(),
                                           nn.Conv2d(4, 4, 3), nn.InstanceNorm2d(4), nn.ReLU(), head(4)), PICTURE)
add("layer_norm", lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 8),
                                        nn.LayerNorm(8, elementwise_affine=False), nn.Tanh(), Pooled()), SEQUENCE)
add("layer_norm_11", lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.LayerNorm((6, 8)), Pooled()),
    SEQUENCE, opset=11)
add("rms_norm", lambda: nn.Sequential(nn.Linear(8, 8), RmsNorm(8), nn.Tanh(), RmsNorm(8), Pooled()), SEQUENCE)
add("local_response_norm", lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.ReLU(),
                                                 nn.LocalResponseNorm(4, alpha=0.25, beta=0.75, k=2.0), head(6)),
    PICTURE)
add("batch_norm_rows", lambda: nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8, momentum=0.25), nn.ReLU(),
                                             nn.Linear(8, 6, bias=False), nn.BatchNorm1d(6, affine=False, momentum=0.5),
                                             nn.Linear(6, 4)), ROWS, keep_norms=True)
add("batch_norm_inference", lambda: nn.Sequential(nn.ReLU(), nn.BatchNorm1d(12, momentum=0.25), nn.Linear(12, 8),
                                                  nn.Tanh(), nn.BatchNorm1d(8, momentum=0.25), nn.Linear(8, 4)), ROWS,
    opset=13)


@network("normalised_input", PICTURE)
class NormalisedInput(nn.Module):
    """Mean and deviation of the colours are buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456]).view(1, 2, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224]).view(1, 2, 1, 1))
        self.body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), head(4))

    def forward(self, x):
        return self.body((x - self.mean) / self.std)


@network("standardised_output", ROWS)
class StandardisedOutput(nn.Module):
    """Features are standardised in the middle with constants of the data."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(4)
        self.register_buffer("mean", torch.randn(8, generator=g))
        self.register_buffer("std", 0.5 + torch.rand(8, generator=g))
        self.a, self.b = nn.Linear(12, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.b(torch.relu((self.a(x) - self.mean) / self.std))


@network("graph_convolution", (3, 5, 6))
class GraphConvolution(nn.Module):
    """Five nodes with fixed edges: the normalised matrix of neighbours is a buffer."""

    def __init__(self):
        super().__init__()
        edges = torch.tensor([[1, 1, 0, 0, 1], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1.0]])
        degree = edges.sum(1).rsqrt()
        self.register_buffer("edges", degree[:, None] * edges * degree)
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.edges @ self.a(x))
        return (self.edges @ self.b(x)).mean(1)


@network("band_filters", (3, 1, 8, 8), freeze=["sobel"])
class BandFilters(nn.Module):
    """Edges are found by fixed filters before anything is learned."""

    def __init__(self):
        super().__init__()
        sobel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
        self.register_buffer("sobel", torch.stack([sobel, sobel.t()])[:, None])
        self.a = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), head(4))

    def forward(self, x):
        return self.a(F.conv2d(x, self.sobel))


@network("cumulated", (3, 7, 4))
class Cumulated(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(4, 6), nn.Linear(6, 4)

    def forward(self, x):
        return self.out(torch.tanh(self.a(x)).cumsum(1).mul(0.25).sigmoid().mean(1))


@network("selected", ROWS)
class Selected(nn.Module):
    """Columns by a fixed index, once as a buffer and once as a list."""

    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.tensor([3, 1, 7, 7, 0]))
        self.a, self.out = nn.Linear(12, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.tanh(self.a(x))
        return self.out(torch.cat([x.index_select(1, self.order), x[:, [2, 4, 6]]], 1))


@network("split_parts", ROWS, opset=11)
class SplitParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(12, 10), nn.Linear(12, 4)

    def forward(self, x):
        a, b, c = self.a(x).split([2, 3, 5], 1)
        d, e = c[:, :4].unbind(1)[0], c[:, 1::2]
        return self.out(torch.cat([b, a.flip(1), torch.stack([d, d * d], 1), e, F.pad(b, (0, 0)).roll(1, 1)], 1))


@network("conditions", ROWS, opset=13)
class Conditions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(12, 8), nn.Linear(12, 8), nn.Linear(8, 4)
        self.register_buffer("hidden", torch.tensor([1, 0, 0, 1, 0, 0, 0, 0], dtype=torch.bool))

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        y = torch.where(a > b, a.clamp(-0.75, 1.5), torch.minimum(b, a * 0.5))
        y = y.masked_fill(self.hidden, 0.25) + (a * b < 0).float() * b
        return self.out(torch.maximum(y, -a))


@network("reductions", (4, 5, 6))
class Reductions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(6, 6), nn.Linear(42, 4)

    def forward(self, x):
        x = self.a(x)
        parts = [x.amax(1), x.amin(1), x.logsumexp(1), x.var(1), x.std(1, unbiased=False), x.norm(dim=1),
                 x.abs().sum(1)]
        return self.out(torch.cat(parts, 1))


@network("functions", ROWS)
class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(12, 8), nn.Linear(48, 4)

    def forward(self, x):
        x = self.a(x)
        parts = [x.exp(), (x.abs() + 0.5).log(), x.sin() * x.cos(), x.pow(3), (x * x + 1).sqrt().reciprocal(),
                 torch.erf(x)]
        return self.out(torch.cat(parts, 1))


@network("constant_bias", ROWS)
class ConstantBias(nn.Module):
    """Biases written into the code, which PyTorch does not train."""

    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(12, 8, bias=False), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(torch.relu(self.a(x) + 0.375))


@network("learned_numbers", ROWS)
class LearnedNumbers(nn.Module):
    """Single learned numbers: a scale, an offset, a share that goes through a sigmoid."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(12, 8), nn.Linear(12, 8), nn.Linear(8, 4)
        self.scale, self.offset = nn.Parameter(torch.tensor(1.3721)), nn.Parameter(torch.tensor([0.2173]))
        self.share = nn.Parameter(torch.tensor(0.4127))

    def forward(self, x):
        s = torch.sigmoid(self.share)
        return self.out(torch.tanh(s * self.a(x) + (1 - s) * self.b(x)) * self.scale + self.offset)


@network("deep_sets", (4, 5, 6))
class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
        self.all = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x):
        return self.all(self.each(x).sum(1))

"""Linear layers: every activation function, and ways to combine layers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from network import add, network

ROWS = (5, 12)


def perceptron(activation, *end):
    return nn.Sequential(nn.Linear(12, 10), activation, nn.Linear(10, 8), activation, nn.Linear(8, 4), *end)


add("mlp_relu", lambda: perceptron(nn.ReLU()), ROWS)
add("mlp_relu_dynamo", lambda: perceptron(nn.ReLU()), ROWS, dynamo=True, open_batch=False)
add("mlp_leaky_relu", lambda: perceptron(nn.LeakyReLU(0.125)), ROWS, opset=11, open_batch=False)
add("mlp_elu", lambda: perceptron(nn.ELU(0.75)), ROWS, opset=11)
add("mlp_selu", lambda: perceptron(nn.SELU()), ROWS, opset=13, rounded="scale and alpha of selu")
add("mlp_celu", lambda: perceptron(nn.CELU(0.5)), ROWS, opset=13)
add("mlp_gelu", lambda: perceptron(nn.GELU()), ROWS, opset=13, rounded="the root of 2")
add("mlp_gelu_tanh", lambda: perceptron(nn.GELU("tanh")), ROWS, rounded="0.044715 and the root of 2 / pi")
add("mlp_silu", lambda: perceptron(nn.SiLU()), ROWS)
add("mlp_hardswish", lambda: perceptron(nn.Hardswish()), ROWS, rounded="1 / 6")
add("mlp_hardswish_11", lambda: perceptron(nn.Hardswish()), ROWS, opset=11, rounded="1 / 6")
add("mlp_hardsigmoid", lambda: perceptron(nn.Hardsigmoid()), ROWS, rounded="1 / 6")
add("mlp_softplus", lambda: perceptron(nn.Softplus(beta=2.0)), ROWS)
add("mlp_mish", lambda: perceptron(nn.Mish()), ROWS, opset=13)
add("mlp_softsign", lambda: perceptron(nn.Softsign(), nn.LogSoftmax(-1)), ROWS)
add("mlp_softmax", lambda: perceptron(nn.Tanh(), nn.Softmax(-1)), ROWS, loss="probabilities")
add("mlp_prelu", lambda: nn.Sequential(nn.Linear(12, 10), nn.PReLU(10), nn.Linear(10, 8), nn.PReLU(), nn.Linear(8, 4)),
    ROWS)
add("mlp_bounded", lambda: nn.Sequential(nn.Linear(12, 10), nn.ReLU6(), nn.Linear(10, 8), nn.Hardtanh(-0.5, 0.75),
                                         nn.Linear(8, 4)), ROWS, opset=13)
add("mlp_shrinking", lambda: nn.Sequential(nn.Linear(12, 10), nn.Softshrink(0.25), nn.Linear(10, 10),
                                           nn.Hardshrink(0.125), nn.Linear(10, 8), nn.Tanhshrink(), nn.Linear(8, 8),
                                           nn.LogSigmoid(), nn.Linear(8, 4)), ROWS)
add("mlp_fresh", lambda: nn.Sequential(nn.Linear(12, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 8), nn.LayerNorm(8),
                                       nn.ReLU(), nn.Linear(8, 4)), ROWS, fresh=True)
add("mlp_without_bias", lambda: nn.Sequential(nn.Linear(12, 10, bias=False), nn.Sigmoid(),
                                              nn.Linear(10, 4, bias=False)), ROWS, opset=13)
add("autoencoder", lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 12), nn.Tanh(), nn.Linear(12, 6), nn.Tanh(),
                                         nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 36), nn.Unflatten(1, (1, 6, 6))),
    (4, 1, 6, 6), loss="reconstruction")


@network("autoencoder_tied", (4, 16), loss="reconstruction")
class TiedAutoencoder(nn.Module):
    """The decoder is the encoder's transpose."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 6)
        self.back = nn.Parameter(torch.zeros(16))

    def forward(self, x):
        return F.linear(torch.tanh(self.encoder(x)), self.encoder.weight.t(), self.back)


@network("highway", ROWS)
class Highway(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(12, 8)
        self.gates = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.ways = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        x = self.enter(x)
        for gate, way in zip(self.gates, self.ways):
            t = torch.sigmoid(gate(x))
            x = t * torch.relu(way(x)) + (1 - t) * x
        return self.out(x)


@network("glu", ROWS, opset=13)
class Glu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(12, 16), nn.Linear(8, 12), nn.Linear(6, 4)

    def forward(self, x):
        x = F.glu(self.a(x))
        a, b = self.b(x).chunk(2, -1)
        return self.out(torch.tanh(a) * b)


@network("siamese", (4, 2, 10))
class Siamese(nn.Module):
    """One branch, applied to both halves of the input."""

    def __init__(self):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 6))
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        return self.out((self.branch(x[:, 0]) - self.branch(x[:, 1])).abs())


@network("deep_supervision", ROWS)
class DeepSupervision(nn.Module):
    """Two outputs. The loss reads the first."""

    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(12, 8), nn.Linear(8, 8)
        self.early, self.late = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        a = torch.relu(self.low(x))
        return self.late(torch.relu(self.high(a))), self.early(a)


@network("wide_and_deep", ROWS, opset=11)
class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(12, 4)
        self.deep = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4, bias=False))

    def forward(self, x):
        crossed = x[:, :6] * x[:, 6:]
        return self.wide(torch.cat([x[:, :6], crossed], 1)) + self.deep(x)


@network("two_towers", (4, 10), (4, 6), refused="has 2 inputs; training and testing feed one")
class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Linear(10, 8), nn.Linear(6, 8)

    def forward(self, user, item):
        a, b = F.normalize(self.user(user), dim=-1), F.normalize(self.item(item), dim=-1)
        return a @ b.t()


@network("cosine_head", ROWS, folding=False)
class CosineHead(nn.Module):
    """Directions of classes, and a learned temperature in logarithms."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(12, 8)
        self.classes = nn.Parameter(torch.randn(4, 8))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.4)))

    def forward(self, x):
        x = F.normalize(torch.tanh(self.body(x)), dim=-1)
        return self.logit_scale.exp() * x @ F.normalize(self.classes, dim=-1).t()


@network("cosine_similarity", (4, 2, 8))
class CosineSimilarity(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.scale, self.shift = nn.Linear(8, 6), nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))

    def forward(self, x):
        x = self.body(x)
        return F.cosine_similarity(x[:, 0], x[:, 1], dim=-1)[:, None] * self.scale + self.shift


@network("maxout", ROWS)
class Maxout(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(12, 24), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.a(x).view(-1, 8, 3).max(-1).values)


@network("experts", ROWS)
class Experts(nn.Module):
    """A weighted sum of experts; their weights are one tensor."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(12, 3)
        self.weights, self.biases = nn.Parameter(torch.randn(3, 12, 8)), nn.Parameter(torch.zeros(3, 8))
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        each = torch.tanh(torch.einsum("ni,eio->neo", x, self.weights) + self.biases)
        return self.out(torch.einsum("ne,neo->no", self.gate(x).softmax(-1), each))


@network("bilinear", ROWS)
class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(12, 5), nn.Linear(12, 6)
        self.form, self.bias = nn.Parameter(torch.randn(4, 5, 6)), nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return torch.einsum("ni,kij,nj->nk", self.left(x), self.form, self.right(x)) + self.bias


@network("radial_basis", ROWS)
class RadialBasis(nn.Module):
    def __init__(self):
        super().__init__()
        self.centres, self.widths = nn.Parameter(torch.randn(9, 12)), nn.Parameter(torch.zeros(9))
        self.out = nn.Linear(9, 4)

    def forward(self, x):
        squares = (x[:, None] - self.centres).pow(2).sum(-1)
        return self.out(torch.exp(-squares * self.widths.exp() / 8))


@network("fourier_features", (4, 3))
class FourierFeatures(nn.Module):
    """Frequencies are drawn once and not trained."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(3, 8, generator=torch.Generator().manual_seed(9)))
        self.out = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x):
        angles = 4 * x @ self.frequencies
        return self.out(torch.cat([angles.sin(), angles.cos()], -1))


@network("shared_steps", ROWS)
class SharedSteps(nn.Module):
    """A differential equation in three steps with the same weights."""

    def __init__(self):
        super().__init__()
        self.enter, self.flow, self.out = nn.Linear(12, 8), nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = self.enter(x)
        for _ in range(3):
            x = x + 0.25 * torch.tanh(self.flow(x))
        return self.out(x)


@network("film", (4, 16))
class Film(nn.Module):
    """One half of the input scales and shifts what becomes of the other."""

    def __init__(self):
        super().__init__()
        self.body, self.condition, self.out = nn.Linear(8, 6), nn.Linear(8, 12), nn.Linear(6, 4)

    def forward(self, x):
        x, c = x.split([8, 8], 1)
        scale, shift = self.condition(c).chunk(2, 1)
        return self.out(torch.relu((1 + scale) * self.body(x) + shift))


@network("weight_norm", ROWS, folding=False)
class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.weight_norm(nn.Linear(12, 8))
        self.b = nn.utils.parametrizations.weight_norm(nn.Linear(8, 4))

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))

"""The networks of cpu_nets in PyTorch, layer by layer: the same numbers of parameters as headroom's."""
import torch
import torch.nn.functional as F
from torch import nn

FIRES = {"squeezenet1_0": (96, 7, [0, (16, 64), (16, 64), (32, 128), 0, (32, 128), (48, 192), (48, 192), (64, 256), 0, (64, 256)]),
         "squeezenet1_1": (64, 3, [0, (16, 64), (16, 64), 0, (32, 128), (32, 128), 0, (48, 192), (48, 192), (64, 256), (64, 256)])}
BASIC_BLOCKS = [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]
INVERTED = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def relu():
    return nn.ReLU(inplace=True)


def mlp(hidden):
    return nn.Sequential(nn.Linear(784, hidden), nn.Sigmoid(), nn.Linear(hidden, 10))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), relu(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), relu(), nn.MaxPool2d(2),
        nn.Conv2d(16, 120, 5), relu(), nn.Flatten(), nn.Linear(120, 84), relu(), nn.Linear(84, 10))


def ece408():
    return nn.Sequential(
        nn.Conv2d(1, 12, 7, bias=False), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 7, bias=False), nn.Flatten(),
        nn.Linear(24 * 27 * 27, 160), nn.Tanh(), nn.Linear(160, 10))


def alexnet():
    pool = lambda: nn.MaxPool2d(3, 2)
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), relu(), pool(), nn.Conv2d(64, 192, 5, padding=2), relu(), pool(),
        nn.Conv2d(192, 384, 3, padding=1), relu(), nn.Conv2d(384, 256, 3, padding=1), relu(),
        nn.Conv2d(256, 256, 3, padding=1), relu(), pool(), nn.Flatten(), nn.Linear(9216, 4096), relu(),
        nn.Linear(4096, 4096), relu(), nn.Linear(4096, 1000))


class Fire(nn.Module):
    def __init__(self, channels, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat([F.relu(self.one(x), inplace=True), F.relu(self.three(x), inplace=True)], 1)


def squeezenet(name):
    channels, kernel, fires = FIRES[name]
    layers = [nn.Conv2d(3, channels, kernel, 2), relu()]
    for fire in fires:
        layers.append(Fire(channels, *fire) if fire else nn.MaxPool2d(3, 2, ceil_mode=True))
        channels = 2 * fire[1] if fire else channels
    return nn.Sequential(*layers, nn.Conv2d(channels, 1000, 1), relu(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Basic(nn.Module):
    def __init__(self, channels, maps, stride):
        super().__init__()
        self.a, self.na = nn.Conv2d(channels, maps, 3, stride, 1, bias=False), nn.BatchNorm2d(maps)
        self.b, self.nb = nn.Conv2d(maps, maps, 3, 1, 1, bias=False), nn.BatchNorm2d(maps)
        self.shortcut = nn.Identity()
        if stride != 1 or channels != maps:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, maps, 1, stride, bias=False), nn.BatchNorm2d(maps))

    def forward(self, x):
        y = self.nb(self.b(F.relu(self.na(self.a(x)), inplace=True)))
        return F.relu(y + self.shortcut(x), inplace=True)


def resnet18():
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), relu(), nn.MaxPool2d(3, 2, 1)], 64
    for maps, stride in BASIC_BLOCKS:
        layers.append(Basic(channels, maps, stride))
        channels = maps
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Inverted(nn.Module):
    def __init__(self, channels, maps, stride, factor):
        super().__init__()
        hidden, layers = channels * factor, []
        if factor != 1:
            layers += [nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden),
                   nn.ReLU6(inplace=True), nn.Conv2d(hidden, maps, 1, bias=False), nn.BatchNorm2d(maps)]
        self.layers, self.residual = nn.Sequential(*layers), stride == 1 and channels == maps

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def mobilenet_v2():
    layers, channels = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True)], 32
    for factor, maps, count, first in INVERTED:
        for stride in [first] + [1] * (count - 1):
            layers.append(Inverted(channels, maps, stride, factor))
            channels = maps
    return nn.Sequential(*layers, nn.Conv2d(channels, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class Block(nn.Module):
    """One block of a transformer: each half adds its result to the stream."""

    def __init__(self, width, heads, causal):
        super().__init__()
        epsilon = 1e-5 if causal else 1e-6
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        y = F.gelu(self.fc1(self.norm2(x)), approximate="tanh" if self.causal else "none")
        return x + self.fc2(y)


class Vit(nn.Module):
    def __init__(self, width=192, depth=12, heads=3):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(197, width))
        self.blocks = nn.Sequential(*(Block(width, heads, False) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class Gpt2(nn.Module):
    def __init__(self, width=128, depth=4, heads=4, context=128, vocab=256):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Parameter(torch.zeros(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads, True) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return F.linear(self.norm(self.blocks(self.tokens(x) + self.positions)), self.tokens.weight)


def build(name):
    if name in FIRES:
        return squeezenet(name)
    if name.startswith("mlp"):
        return mlp(int(name[3:]))
    return {"lenet5": lenet5, "ece408": ece408, "alexnet": alexnet, "resnet18": resnet18, "mobilenet_v2": mobilenet_v2,
            "vit_tiny": Vit, "gpt2_tiny": Gpt2}[name]()


def batch_of(name, batch):
    """Inputs and labels of one batch."""
    if name == "gpt2_tiny":
        return torch.randint(256, (batch, 128)), torch.randint(256, (batch, 128))
    shape = {"lenet5": (1, 32, 32), "ece408": (1, 72, 72)}.get(name, (784,) if name.startswith("mlp") else (3, 224, 224))
    return torch.randn(batch, *shape), torch.randint(1000 if shape[0] == 3 else 10, (batch,))

"""Attention over sequences, in its forms."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from network import network

SEQUENCE = (3, 6, 8)
WIDTH, HEADS = 8, 2  # heads of 4: the root of 4 is exact


class Pooled(nn.Module):
    """The mean over a sequence, and scores of classes."""

    def __init__(self, width=WIDTH, classes=4):
        super().__init__()
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        return self.out(x.mean(1))


def heads_of(x):
    return x.view(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)


@network("attention_written", SEQUENCE, opset=11)
class WrittenAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.end = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), Pooled()

    def forward(self, x):
        n, s, w = x.shape
        q, k, v = self.qkv(x).view(n, s, 3, HEADS, w // HEADS).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1) / math.sqrt(w // HEADS)).softmax(-1)
        return self.end(x + self.out((a @ v).transpose(1, 2).reshape(n, s, w)))


@network("attention_causal_mask", SEQUENCE)
class CausalMask(nn.Module):
    """A buffer of zeros and minus infinity hides later places."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.register_buffer("mask", torch.full((10, 10), float("-inf")).triu(1))
        self.end = nn.Linear(WIDTH, 4)

    def forward(self, x):
        a = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) * 0.25 + self.mask[:x.shape[1], :x.shape[1]]
        return self.end(torch.bmm(a.softmax(-1), self.v(x))[:, -1])


@network("attention_masked_fill", SEQUENCE, opset=13)
class MaskedFill(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.end = nn.Linear(WIDTH, 3 * WIDTH), Pooled()
        self.register_buffer("seen", torch.tril(torch.ones(1, 1, 6, 6)))

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).chunk(3, -1))
        a = (q @ k.transpose(-2, -1) * 0.5).masked_fill(self.seen == 0, -1e9)
        return self.end((a.softmax(-1) @ v).transpose(1, 2).flatten(2))


@network("attention_function", SEQUENCE, rounded="the root of the scale")
class AttentionFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.end = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), Pooled()

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).split(WIDTH, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.end(x + self.out(y.transpose(1, 2).flatten(2)))


@network("attention_multihead", SEQUENCE, rounded="the root of the scale")
class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.end = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), Pooled()

    def forward(self, x):
        return self.end(self.attention(x, x, x, need_weights=False)[0])


@network("attention_cross", SEQUENCE, rounded="the root of the scale")
class CrossAttention(nn.Module):
    """Learned queries read the sequence, as in Perceiver and DETR."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, 3, WIDTH))
        self.attention, self.end = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), Pooled()

    def forward(self, x):
        q = self.queries.expand(x.shape[0], -1, -1)
        return self.end(q + self.attention(q, x, x)[0])


@network("attention_relative", SEQUENCE, folding=False)
class RelativePositions(nn.Module):
    """Offsets of scores from a table by distance, as in Swin and T5."""

    def __init__(self):
        super().__init__()
        self.qkv, self.end = nn.Linear(WIDTH, 3 * WIDTH), Pooled()
        self.table = nn.Parameter(torch.zeros(11, HEADS))
        places = torch.arange(6)
        self.register_buffer("distance", places[:, None] - places[None] + 5)

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).chunk(3, -1))
        offsets = self.table[self.distance.view(-1)].view(6, 6, HEADS).permute(2, 0, 1)
        a = (q @ k.transpose(-2, -1) * 0.5 + offsets).softmax(-1)
        return self.end((a @ v).transpose(1, 2).flatten(2))


@network("attention_alibi", SEQUENCE)
class Alibi(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.end = nn.Linear(WIDTH, 3 * WIDTH), Pooled()
        places = torch.arange(6.0)
        slopes = torch.tensor([0.5, 0.25])
        self.register_buffer("bias", -(places[:, None] - places[None]).abs() * slopes[:, None, None])

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).chunk(3, -1))
        a = (q @ k.transpose(-2, -1) * 0.5 + self.bias).softmax(-1)
        return self.end((a @ v).transpose(1, 2).flatten(2))


@network("attention_linear", SEQUENCE)
class LinearAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.end = nn.Linear(WIDTH, 3 * WIDTH), Pooled()

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.einsum("nhsd,nhse->nhde", k, v)
        scale = torch.einsum("nhsd,nhd->nhs", q, k.sum(2))
        return self.end((torch.einsum("nhsd,nhde->nhse", q, state) / scale[..., None]).transpose(1, 2).flatten(2))


@network("rotary", (3, 12, 16))
class Rotary(nn.Module):
    """Pairs are rotated by their place; sines and cosines are buffers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.end = nn.Linear(16, 48), Pooled(16)
        angles = torch.arange(12.0)[:, None] * 10000**(-torch.arange(4.0) / 4)
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(x).chunk(3, -1))
        a = (self.rotate(q) @ self.rotate(k).transpose(-2, -1) * 0.5).softmax(-1)
        return self.end((a @ v).transpose(1, 2).flatten(2))

"""Sequences: transformers, recurrent layers, embeddings."""

import torch
import torch.nn.functional as F
from torch import nn

from attention import HEADS, SEQUENCE, WIDTH, Pooled, heads_of
from network import add, network


def encoder(**options):
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 16, dropout=0.0, batch_first=True, **options)


add("encoder_post_norm", lambda: nn.Sequential(encoder(), Pooled()), SEQUENCE, open_batch=False, rounded="the root of the scale")
add("encoder_pre_norm", lambda: nn.Sequential(encoder(norm_first=True, activation="gelu"), nn.LayerNorm(WIDTH), Pooled()),
    SEQUENCE, opset=14, open_batch=False, rounded="the root of 2")


@network("sine_positions", SEQUENCE, open_batch=False, rounded="the root of the scale")
class SinePositions(nn.Module):
    def __init__(self):
        super().__init__()
        places, rates = torch.arange(20.0)[:, None], 10000**(-torch.arange(4.0) / 4)
        table = torch.zeros(20, WIDTH)
        table[:, 0::2], table[:, 1::2] = (places * rates).sin(), (places * rates).cos()
        self.register_buffer("table", table)
        self.enter, self.layer, self.end = nn.Linear(8, WIDTH), encoder(), Pooled()

    def forward(self, x):
        return self.end(self.layer(self.enter(x) + self.table[:x.shape[1]]))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm2, self.wide, self.narrow = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 12), nn.Linear(12, WIDTH)

    def forward(self, x):
        q, k, v = (heads_of(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.mix(((q @ k.transpose(-2, -1) * 0.5).softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.narrow(F.silu(self.wide(self.norm2(x))))


add("block_dynamo", lambda: nn.Sequential(Block(), Pooled()), SEQUENCE, dynamo=True, open_batch=False)
add("blocks_fresh", lambda: nn.Sequential(Block(), Block(), Pooled()), SEQUENCE, fresh=True, open_batch=False)


@network("vit_tiny", (3, 2, 8, 8))
class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(2, WIDTH, 4, stride=4)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, WIDTH)), nn.Parameter(torch.randn(1, 5, WIDTH))
        self.layer, self.norm, self.out = Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.out(self.norm(self.layer(x))[:, 0])


@network("mixer", SEQUENCE)
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.places = nn.LayerNorm(WIDTH), nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
        self.norm2, self.channels = nn.LayerNorm(WIDTH), nn.Sequential(nn.Linear(WIDTH, 12), nn.ReLU(),
                                                                       nn.Linear(12, WIDTH))
        self.end = Pooled()

    def forward(self, x):
        x = x + self.places(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return self.end(x + self.channels(self.norm2(x)))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 2.0**-16))


@network("swiglu", SEQUENCE)
class SwiGlu(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.end = RmsNorm(WIDTH), Pooled()
        self.gate, self.up, self.down = (nn.Linear(WIDTH, 12, bias=False), nn.Linear(WIDTH, 12, bias=False),
                                         nn.Linear(12, WIDTH, bias=False))

    def forward(self, x):
        y = self.norm(x)
        return self.end(x + self.down(F.silu(self.gate(y)) * self.up(y)))


class Recurrent(nn.Module):
    def __init__(self, cell, **options):
        super().__init__()
        self.cell = cell(8, 5, batch_first=True, **options)
        self.out = nn.Linear(10 if options.get("bidirectional") else 5, 4)

    def forward(self, x):
        return self.out(self.cell(x)[0][:, -1])


add("lstm", lambda: Recurrent(nn.LSTM), SEQUENCE)
add("lstm_two_ways", lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), SEQUENCE, open_batch=False)
add("gru", lambda: Recurrent(nn.GRU, num_layers=2), SEQUENCE, open_batch=False)
add("rnn", lambda: Recurrent(nn.RNN, nonlinearity="relu", bidirectional=True), SEQUENCE, open_batch=False)
TOKENS = {"tokens": 20}


@network("gpt_tiny", (2, 7), rounded="the root of the scale", **TOKENS)
class Gpt(nn.Module):
    """The table of tokens is also the last layer."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, WIDTH), nn.Embedding(10, WIDTH)
        self.norm, self.attention, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 24)
        self.head = nn.Linear(WIDTH, 20, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        q, k, v = (heads_of(t) for t in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + self.attention(y.transpose(1, 2).flatten(2)))


add("embedding_bag", lambda: nn.Sequential(nn.EmbeddingBag(20, 6, mode="mean"), nn.ReLU(), nn.Linear(6, 4)), (3, 5),
    tokens=20, open_batch=False)
add("embedding_mean", lambda: nn.Sequential(nn.Embedding(20, 6), Pooled(6)), (3, 5), opset=13, **TOKENS)
add("lstm_tagger", lambda: nn.Sequential(nn.Embedding(20, 8), Recurrent(nn.LSTM)), (3, 6), **TOKENS)


@network("embedding_tied", (4, 6))
class TiedEmbedding(nn.Module):
    """Numbers in [-1, 1) become tokens; the table of tokens is also the last layer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.mix = nn.Linear(8, 8)

    def forward(self, x):
        tokens = ((x + 1) * 5).floor().long()
        y = torch.tanh(self.mix(self.table(tokens).mean(1)))
        return y @ self.table.weight.t()


@network("embedding_tied_sequence", (4, 6), opset=13)
class TiedEmbeddingOfSequences(nn.Module):
    """As above, but the last layer reads a sequence, for which exporters transpose the table themselves."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x):
        y = torch.tanh(self.table(((x + 1) * 5).floor().long()))
        return self.out(y).amax(1)

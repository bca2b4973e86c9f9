"""Exports PyTorch networks to ONNX, for tests/onnx_exports_test.cc and for manual tests of the reader.

Weights are random. Beside each NAME.onnx is a folder NAME.data with input_K.npy and PyTorch's results,
output_K.npy. Needs torch and onnx; torchvision and transformers for their networks. The tests do not run it:
the files are too large to store.

    python export_models.py FOLDER [--only NAME...] [--opset 9 11 13 17] [--dynamo] [--no-data]
"""

import argparse
import math
import pathlib
import sys
import warnings

sys.path.pop(0)  # transformers.py beside this file is a different module

import numpy as np
import torch
from torch import nn


class Attention(nn.Module):
    """Written out, as in networks from before the single function existed."""

    def __init__(self, width, heads, causal=False, length=64):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        n, s, w = x.shape
        q, k, v = self.qkv(x).view(n, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-2, -1) / math.sqrt(w // self.heads)
        if self.causal:
            a = a.masked_fill(self.mask[:, :, :s, :s] == 0, float("-inf"))
        return self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(n, s, w))


class Gpt(nn.Module):
    def __init__(self, vocabulary=1000, width=64, heads=4, layers=2, length=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.ModuleList([
                nn.LayerNorm(width), Attention(width, heads, True, length), nn.LayerNorm(width),
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
            ]) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for before, attention, between, mlp in self.blocks:
            x = x + attention(before(x))
            x = x + mlp(between(x))
        return self.head(self.norm(x))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()

        def block(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                 nn.Conv2d(b, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU())

        self.down1, self.down2, self.deep = block(3, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.mix2, self.mix1 = block(4 * width, 2 * width), block(3 * width, width)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.deep(nn.functional.avg_pool2d(b, 2))
        b = self.mix2(torch.cat([self.up2(c), b], 1))
        up = nn.functional.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.out(self.mix1(torch.cat([up, a], 1)))


class Tagger(nn.Module):
    def __init__(self, cell=nn.LSTM, **options):
        super().__init__()
        self.words = nn.Embedding(500, 24)
        self.cell = cell(24, 32, num_layers=2, bidirectional=True, batch_first=True, **options)
        self.out = nn.Linear(64, 9)

    def forward(self, ids):
        return self.out(self.cell(self.words(ids))[0]).log_softmax(-1)


class Voice(nn.Module):
    """Signals: windows over one axis."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(2, 8, 5, stride=2, padding=2), nn.BatchNorm1d(8), nn.PReLU(8),
                                  nn.MaxPool1d(2), nn.Conv1d(8, 16, 3, dilation=2, groups=2), nn.ELU(),
                                  nn.AvgPool1d(3, stride=2, padding=1), nn.InstanceNorm1d(16, affine=True),
                                  nn.ConvTranspose1d(16, 4, 4, stride=2, padding=1), nn.Softplus(),
                                  nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(-1))

    def forward(self, x):
        return self.body(x)


class Pieces(nn.Module):
    """Operators that no network above uses."""

    def forward(self, x):
        n, c, h, w = x.shape
        a = torch.einsum("nchw,nkhw->nck", x, x.flip(3)) / (h * w)
        b = nn.functional.pixel_shuffle(x, 2).mean((2, 3)) + x.amax((2, 3))[:, : c // 4]
        d = torch.where(x > 0, x.clamp(max=0.5), x * 0.1).cumsum(2)[..., -1].sum(2)
        e = nn.functional.pad(x, (1, 2, 0, 1), mode="reflect")[:, :, ::2].std((2, 3))
        f = torch.stack([x.argmax(1).float().mean((1, 2)), x.norm(dim=1).mean((1, 2))], 1)
        g = nn.functional.interpolate(x, scale_factor=2, mode="nearest").logsumexp((2, 3))
        return torch.cat([a.flatten(1), b, d, e, f, g, torch.tril(a).sum(2), x.tile(1, 2, 1, 1).prod(1).mean((1, 2))[:, None]], 1)


def image(size, batch=1):
    return (torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(5)), )


def ids(vocabulary, batch, length):
    return (torch.randint(0, vocabulary, (batch, length), generator=torch.Generator().manual_seed(6)), )


def vision(name, size=224, **options):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **options), image(size)

    return make


def bert(layers=12):
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=layers, attn_implementation="eager")
    x = ids(30522, 1, 16)[0]
    mask = torch.ones_like(x)
    mask[:, 12:] = 0
    return BertModel(config), (x, mask, torch.zeros_like(x))


def roberta():
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128,
                           vocab_size=500, max_position_embeddings=66, attn_implementation="eager")
    return RobertaModel(config), ids(500, 2, 12)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=500, n_positions=64, use_cache=False,
                        attn_implementation="eager")
    return GPT2LMHeadModel(config), ids(500, 2, 12)


MODELS = {
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "densenet121": vision("densenet121"),
    "shufflenet_v2_x1_0": vision("shufflenet_v2_x1_0"),
    "inception_v3": vision("inception_v3", 299, aux_logits=False, init_weights=False),
    "googlenet": vision("googlenet", aux_logits=False, init_weights=False),
    "squeezenet1_1": vision("squeezenet1_1"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_large": vision("mobilenet_v3_large"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "mnasnet1_0": vision("mnasnet1_0"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "convnext_tiny": vision("convnext_tiny"),
    "vit_b_16": vision("vit_b_16"),
    "swin_t": vision("swin_t"),
    "bert_base": bert,
    "roberta": roberta,
    "gpt2": gpt2,
    "gpt": lambda: (Gpt(), ids(1000, 2, 20)),
    "unet": lambda: (UNet(), (image(40, 2)[0], )),
    "lstm_tagger": lambda: (Tagger(), ids(500, 3, 11)),
    "gru_tagger": lambda: (Tagger(nn.GRU), ids(500, 3, 11)),
    "rnn_tagger": lambda: (Tagger(nn.RNN, nonlinearity="relu"), ids(500, 3, 11)),
    "voice": lambda: (Voice(), (torch.randn(2, 2, 64, generator=torch.Generator().manual_seed(7)), )),
    "pieces": lambda: (Pieces(), (torch.randn(2, 8, 6, 10, generator=torch.Generator().manual_seed(8)), )),
}


def spread(model):
    """Weights that keep activations alive, and statistics that are not 0 and 1."""
    g = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.any():  # a last layer initialised with zeros
            parameter.data.copy_(0.05 * torch.randn(parameter.shape, generator=g))
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(0.1 * torch.randn(buffer.shape, generator=g))
        if name.endswith("running_var"):
            buffer.copy_(0.5 + torch.rand(buffer.shape, generator=g))


def flat(outputs):
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    values = outputs.values() if hasattr(outputs, "values") else outputs
    return [t for t in values if isinstance(t, torch.Tensor)]


def export(name, folder, opset, dynamo, with_data):
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    model.eval()
    spread(model)
    full = f"{name}-{'dynamo' if dynamo else opset}"
    path = folder / f"{full}.onnx"
    with torch.no_grad():
        outputs = flat(model(*inputs))
        if dynamo:
            torch.onnx.export(model, inputs, dynamo=True).save(str(path))
        else:
            torch.onnx.export(model, inputs, str(path), opset_version=opset)
    if with_data:
        data = folder / f"{full}.data"
        data.mkdir(exist_ok=True)
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for k, t in enumerate(tensors):
                np.save(data / f"{kind}_{k}.npy", t.detach().numpy())
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--only", nargs="*", choices=sorted(MODELS), default=sorted(MODELS))
    p.add_argument("--opset", nargs="*", type=int, default=[17])
    p.add_argument("--dynamo", action="store_true", help="by the newer exporter as well")
    p.add_argument("--no-data", action="store_true", help="without inputs and outputs")
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    torch.backends.mha.set_fastpath_enabled(False)  # a fused operator that the exporter does not know
    a.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in a.only:
        for opset, dynamo in [(o, False) for o in a.opset] + ([(0, True)] if a.dynamo else []):
            try:
                print(export(name, a.folder, opset, dynamo, not a.no_data), flush=True)
            except Exception as error:  # this exporter failed: the next one may work
                failed += 1
                print(f"{name}: {'dynamo' if dynamo else f'opset {opset}'}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Exports small networks of many kinds to ONNX and writes PyTorch's answers beside them.

    pip install torch==2.5.1 numpy==2.2.6 onnx==1.17.0 onnxscript==0.1.0 protobuf==4.25.5
    python tests/golden/small_networks/make.py [NAME...]

For each network NAME.onnx and NAME.json, read by tests/golden_small_networks_test.cc. README.md in the folder above
describes them.
"""

import copy
import pathlib
import sys
import warnings

import onnx
import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import formula  # noqa: E402
from formula import labels, units, write_lines  # noqa: E402

sys.path.pop()  # transformers.py there is not the library of that name
import perceptrons, pictures, pieces, sequences  # noqa: E401, E402, F401
from exporting import export, fill, merged, places, read_statistics  # noqa: E402
from network import NETWORKS  # noqa: E402

MADE_BY = f"tests/golden/small_networks/make.py with torch {torch.__version__.split('+')[0]}, fp64, CPU"
STEPS = 10
MOST_BYTES = 20_000
MOST_OUTPUTS = 24  # more become a digest


def batch_of(net):
    """Inputs in fp64, or tokens. The first one is tensor 0 of the formula."""
    if net.tokens:
        return [torch.from_numpy(labels(torch.Size(s).numel(), net.tokens, 1000 * i)).view(s)
                for i, s in enumerate(net.inputs)]
    return [units(1000 * i, tuple(s)) for i, s in enumerate(net.inputs)]


def narrow(inputs):
    return [x.float() if x.is_floating_point() else x for x in inputs]


def flat(outputs):
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def digest(values):
    n = values.numel()
    record = formula.digest(values)
    record["samples"] = [float(values.reshape(-1)[k * (n - 1) // 4]) for k in range(5)]
    return record


def answers(net, model, inputs):
    """What the module computes in fp64, and how far fp32 is off, relative to the rms of an output."""
    with torch.no_grad():
        outputs = flat(copy.deepcopy(model).double().eval()(*inputs))
        rounded = flat(copy.deepcopy(model).eval()(*narrow(inputs)))
    error = max(float((a - b).abs().max() / a.square().mean().sqrt()) for a, b in zip(outputs, rounded))
    listed = [{"shape": list(t.shape)} | ({"values": t.flatten().tolist()} if t.numel() <= MOST_OUTPUTS else digest(t))
              for t in outputs]
    return {"outputs": listed, "fp32_error": error}


def loss_of(net, outputs, batch):
    if net.loss == "reconstruction":
        return F.mse_loss(outputs, batch)
    outputs = outputs.flatten(0, -2)  # a row of scores for each item, or for each token
    chosen = torch.from_numpy(labels(len(outputs), outputs.shape[1]))
    return F.nll_loss(outputs.log(), chosen) if net.loss == "probabilities" else F.cross_entropy(outputs, chosen)


def train(net, model, inputs):
    """Ten steps on one batch: the loss before each, and the module after the last."""
    model = copy.deepcopy(model).double().train()
    for part in model.modules():  # random; tests compare numbers
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=net.lr, momentum=net.momentum)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(net, flat(model(*inputs))[0], inputs[0])
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses, model


def training(net, model, inputs, where):
    if net.refused or net.unreadable:
        return {"refused": net.refused or net.unreadable}
    losses, trained = train(net, model, inputs)
    elements = nn.utils.parameters_to_vector(trained.parameters())
    record = {"loss": "reconstruction" if net.loss == "reconstruction" else "cross_entropy", "lr": net.lr,
              "momentum": net.momentum, "losses": losses,
              "parameters": {name: digest(elements[torch.as_tensor(places)]) for name, places in where.items()}}
    if net.freeze:
        record["freeze"] = net.freeze
    statistics = {name: b for name, b in trained.named_buffers() if "running_" in name}
    if statistics and not net.folded_norms:
        record["statistics"] = {name: digest(b) for name, b in statistics.items()}
    return record


def make(name, net):
    torch.manual_seed(1)
    model = net.make()
    if not net.fresh:
        fill(model)
    inputs = batch_of(net)
    file = export(net, model, narrow(inputs))
    assert len(file) <= MOST_BYTES, f"{name}: {len(file)} bytes"
    read_statistics(model, file)
    if net.folded_norms:
        model, where = merged(model, file)
    else:
        where = {} if net.refused or net.unreadable else places(net, model, narrow(inputs))
    ports = [{"name": x.name, "shape": list(s)} | ({"tokens": net.tokens} if net.tokens else {})
             for x, s in zip(onnx.load_from_string(file).graph.input, net.inputs)]
    record = {"network": name, "made_by": MADE_BY, "inputs": ports} | answers(net, model, inputs)
    if net.unreadable:
        record["unreadable"] = net.unreadable
    if net.rounded:
        record["rounded"] = net.rounded
    record["training"] = training(net, model, inputs, where)
    (HERE / "files").mkdir(exist_ok=True)
    (HERE / "files" / f"{name}.onnx").write_bytes(file)
    text = write_lines(record) + "\n"
    (HERE / "files" / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"{name}: {len(file)} bytes, answers {len(text)}", flush=True)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.backends.mha.set_fastpath_enabled(False)  # a fused operator that the exporter does not know
    failed = []
    for name in sys.argv[1:] or NETWORKS:
        try:
            make(name, NETWORKS[name])
        except Exception as error:
            failed.append(name)
            print(f"{name}: FAILED: {type(error).__name__}: {str(error)[:300]}", flush=True)
    return f"failed: {' '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())

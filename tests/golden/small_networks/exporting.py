"""Files from modules, and which element of which parameter each stored tensor holds."""

import contextlib
import copy
import io

import numpy as np
import onnx
import onnx.numpy_helper
import onnxscript.optimizer
import torch
from torch import nn
from torch.fx.experimental.optimization import fuse

from formula import units


def fill(model):
    """Values of the formula around the initial ones of PyTorch, which are equal for biases and scales."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters(), start=1):
            uniform = p.numel() == 1 or bool((p == p.view(-1)[0]).all())
            size = 0.25 if uniform or p.dim() < 2 else (3 / p[0].numel())**0.5
            p.copy_((p.view(-1)[0] if uniform else 0) + size * units(number, tuple(p.shape)))
        for number, (name, b) in enumerate(model.named_buffers(), start=500):
            if name.endswith("running_mean"):
                b.copy_(0.2 * units(number, tuple(b.shape)))
            if name.endswith("running_var"):
                b.copy_(1 + 0.5 * units(number, tuple(b.shape)))


def without_traces(file):
    """The newer exporter stores where in the program each node was made: ten times the size of the network."""
    graph = file.graph
    for part in [file, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        del part.metadata_props[:]
        part.doc_string = ""
    return file


def export(net, model, inputs):
    """The bytes of the file that a user of torch.onnx.export gets."""
    model = copy.deepcopy(model)
    training = torch.onnx.TrainingMode.TRAINING if net.keep_norms else torch.onnx.TrainingMode.EVAL
    model.train(net.keep_norms)
    to = io.BytesIO()
    if net.dynamo:
        with contextlib.redirect_stdout(io.StringIO()):
            file = torch.onnx.export(model, tuple(inputs), dynamo=True).model_proto
        # Newer versions of PyTorch do this themselves; it writes out functions.
        return without_traces(onnxscript.optimizer.optimize(file)).SerializeToString()
    names = [f"x{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))]
    axes = {name: {0: "N"} for name in names} if net.open_batch else None
    torch.onnx.export(model, tuple(inputs), to, opset_version=net.opset, input_names=names, dynamic_axes=axes,
                      training=training, do_constant_folding=net.folding and not net.keep_norms, dynamo=False)
    return to.getvalue()


def stored(file):
    """Float tensors of a file by name: initializers, and Constant nodes."""
    graph = onnx.load_from_string(file).graph
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensors[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    return {name: t for name, t in tensors.items() if t.dtype == np.float32}


def read_statistics(model, file):
    """An export in training mode runs the module once, which changes running statistics before they are stored."""
    tensors = stored(file)
    for name, b in model.named_buffers():
        if "running_" in name and name in tensors:
            b.copy_(torch.from_numpy(tensors[name]))


def places(net, model, inputs):
    """For each stored tensor that comes from parameters: its elements as indices into all parameters in a row.

    Exporters transpose, cut, join and rename parameters. To follow them, every element is given its own number,
    and the module is exported with these; tensors without parameters do not change if the numbers do."""
    count = sum(p.numel() for p in model.parameters())
    assert count < 2**23  # exact in fp32
    tagged = []
    for tags in (torch.arange(1, count + 1), torch.arange(count, 0, -1)):
        copied = copy.deepcopy(model)
        nn.utils.vector_to_parameters(tags.float(), copied.parameters())
        tagged.append(stored(export(net, copied, inputs)))
    found = {}
    own = dict(model.named_parameters(remove_duplicate=False))
    for name, first in sorted(tagged[0].items(), key=lambda item: item[0] not in own):
        second = tagged[1][name]
        if np.array_equal(first, second) or "running_" in name:
            continue
        if not np.array_equal(first + second, np.full_like(first, count + 1)):
            raise RuntimeError(f"'{name}' is computed from parameters; export without folding")
        elements = np.asarray(first, np.int64) - 1
        # A tied weight may be there twice, once transposed; it is trained under its own name.
        if not any(np.array_equal(np.sort(elements, None), np.sort(other, None)) for other in found.values()):
            found[name] = elements
    return found


def merged(model, file):
    """A module like `model` in which every batch normalisation is part of the convolution before it, with the
    weights that the exporter computed; and where each tensor of the file is, as in `places`."""
    twin = fuse(copy.deepcopy(model).eval())
    tensors = stored(file)
    where, before = {}, 0
    with torch.no_grad():
        for p in twin.parameters():
            p.requires_grad_(True)  # not so for a bias that the convolution had not
            near = [n for n, t in tensors.items() if t.shape == tuple(p.shape) and np.allclose(t, p, atol=1e-5)]
            assert len(near) == 1, (tuple(p.shape), near)
            p.copy_(torch.from_numpy(tensors[near[0]]))
            where[near[0]] = before + np.arange(p.numel()).reshape(p.shape)
            before += p.numel()
    return twin, where

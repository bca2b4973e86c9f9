"""Writes quantized.onnx, a small quantised network for digits, and quantized.json, what onnxruntime answers.

The network has every usual form: QLinearConv and MaxPool on bytes, DequantizeLinear and QuantizeLinear around Conv
and Gemm, DynamicQuantizeLinear before MatMulInteger. Needs onnx and onnxruntime. Its weights are random.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
RANDOM = np.random.RandomState(4)
NODES, STORED = [], []


def stored(name, values, dtype):
    STORED.append(numpy_helper.from_array(np.asarray(values, dtype), name))
    return name


def node(op, inputs, output, **attrs):
    outputs = [output] if isinstance(output, str) else output
    NODES.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attrs))
    return outputs[0]


def small(name, *shape):
    return stored(name, RANDOM.randint(-127, 128, shape), np.int8)


def scale(name, value):
    return stored(name, value, np.float32)


def pair(x, step, zero):
    """QuantizeLinear and DequantizeLinear, one after the other."""
    names = [scale(f"{x}.scale", step), stored(f"{x}.zero", zero, np.uint8)]
    quantized = node("QuantizeLinear", [x] + names, f"{x}.q")
    return node("DequantizeLinear", [quantized] + names, f"{x}.dq")


def weight(name, axis, scales, *shape):
    """Stored in 8 bits, with a scale for each output."""
    names = [small(f"{name}.weight", *shape), scale(f"{name}.weight.scale", scales),
             stored(f"{name}.weight.zero", np.zeros(len(scales)), np.int8)]
    return node("DequantizeLinear", names, f"{name}.weight.dq", axis=axis)


def network():
    x_scale, x_zero = scale("x.scale", 1 / 128), stored("x.zero", 3, np.uint8)
    node("QuantizeLinear", ["x", x_scale, x_zero], "x.q")
    node("QLinearConv", ["x.q", x_scale, x_zero, small("conv1.weight", 8, 1, 5, 5),
                         scale("conv1.weight.scale", RANDOM.rand(8) * 0.002 + 0.001), stored("conv1.weight.zero",
                                                                                             np.zeros(8), np.int8),
                         scale("conv1.scale", 0.02), stored("conv1.zero", 110, np.uint8),
                         stored("conv1.bias", RANDOM.randint(-900, 900, 8), np.int32)], "conv1", strides=[2, 2])
    node("MaxPool", ["conv1"], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    node("DequantizeLinear", ["pool1", "conv1.scale", "conv1.zero"], "pool1.dq")
    bias = node("DequantizeLinear", [stored("conv2.bias", RANDOM.randint(-5000, 5000, 12), np.int32),
                                     scale("conv2.bias.scale", 0.00002)], "conv2.bias.dq")
    node("Conv", ["pool1.dq", weight("conv2", 0, RANDOM.rand(12) * 0.002 + 0.001, 12, 8, 3, 3), bias], "conv2",
         pads=[1, 1, 1, 1])
    node("Relu", ["conv2"], "relu2")
    node("Flatten", [pair("relu2", 0.037, 0)], "flat")
    node("DynamicQuantizeLinear", ["flat"], ["flat.q", "flat.scale", "flat.zero"])
    node("MatMulInteger", ["flat.q", small("dense.weight", 432, 16), "flat.zero", stored("dense.weight.zero", 0,
                                                                                         np.int8)], "dense.sums")
    node("Cast", ["dense.sums"], "dense.floats", to=TensorProto.FLOAT)
    node("Mul", ["flat.scale", scale("dense.weight.scale", 0.0004)], "dense.step")
    node("Mul", ["dense.floats", "dense.step"], "dense")
    node("Gemm", [pair("dense", 0.05, 128), weight("scores", 0, RANDOM.rand(10) * 0.02 + 0.01, 10, 16)], "scores",
         transB=1)


def main():
    network()
    outputs = ["scores", "conv1", "relu2.q", "flat.zero"]
    kinds = [TensorProto.FLOAT, TensorProto.UINT8, TensorProto.UINT8, TensorProto.UINT8]
    shapes = [["N", 10], ["N", 8, 12, 12], ["N", 12, 6, 6], []]
    graph = helper.make_graph(
        NODES, "quantized", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 28, 28])],
        [helper.make_tensor_value_info(*output) for output in zip(outputs, kinds, shapes)], STORED)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    (HERE / "quantized.onnx").write_bytes(model.SerializeToString())

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # node by node
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = (RANDOM.randint(0, 256, (2, 1, 28, 28)) / 256).astype(np.float32)  # exact in fp32
    answers = session.run(outputs, {"x": x})
    record = {"onnxruntime": onnxruntime.__version__, "pixels": [int(v * 256) for v in x.reshape(-1)]}
    for name, answer in zip(outputs, answers):
        record[name] = {"shape": list(answer.shape),
                        "data": [float(str(v)) if answer.dtype == np.float32 else int(v) for v in answer.reshape(-1)]}
    (HERE / "quantized.json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()

"""Writes onnx_operators.json: small graphs of one ONNX node each, and onnxruntime's results.

Needs onnx and onnxruntime. Inputs follow from a seed; those marked `stored` are initialisers of the graph.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.RandomState(20)
CASES = []


def x(*shape):
    return np.round(RANDOM.randn(*shape), 3).astype(np.float32)


def positive(*shape):
    return (np.round(RANDOM.rand(*shape), 3) + 0.05).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


class Stored:
    def __init__(self, array):
        self.array = np.asarray(array)


def case(op, opset, inputs, outputs=1, **attrs):
    CASES.append((op, opset, inputs, outputs, attrs))


def weights(gates, width, hidden, dirs=1):
    return [Stored(x(dirs, gates * hidden, width)), Stored(x(dirs, gates * hidden, hidden))]


# Elementwise.
for op in ("Add", "Sub", "Mul", "Div"):
    case(op, 13, [x(2, 3), positive(3)])
    case(op, 13, [ints(7, -7, 5), ints(2, 2, -3)])
case("Pow", 13, [positive(2, 3), Stored(np.float32(2.5))])
case("Pow", 13, [x(4), Stored(np.int64(3))])
case("Mod", 13, [ints(-7, 7, 5), ints(3, -3, 2)])
case("Mod", 13, [x(4) * 5, x(4)], fmod=1)
for op in ("Sum", "Max", "Min", "Mean"):
    case(op, 13, [x(2, 3), x(3), x(2, 1)])
for op in ("Neg", "Abs", "Floor", "Ceil", "Round", "Exp", "Sin", "Cos", "Erf", "Tanh", "Sigmoid", "Softplus", "Softsign",
           "Sign", "HardSwish", "Mish", "Relu"):
    case(op, 18 if op == "Mish" else 14, [x(2, 5) * 2])
for op in ("Log", "Sqrt", "Reciprocal"):
    case(op, 13, [positive(2, 5)])
case("Abs", 13, [ints(-3, 4)])
case("Neg", 13, [ints(-3, 4)])
case("LeakyRelu", 16, [x(7)], alpha=0.2)
case("Elu", 6, [x(7)], alpha=0.7)
case("Selu", 6, [x(7)])
case("Celu", 12, [x(7)], alpha=0.5)
case("ThresholdedRelu", 10, [x(7)], alpha=0.3)
case("PRelu", 16, [x(2, 3, 2), Stored(x(3, 1))])
case("PRelu", 16, [x(2, 3), Stored(x(1))])
case("Gelu", 20, [x(7)])
case("Gelu", 20, [x(7)], approximate="tanh")
case("HardSigmoid", 6, [x(7) * 3], alpha=0.3, beta=0.4)
case("Clip", 6, [x(7)], min=-0.5, max=0.25)
case("Clip", 13, [x(7), Stored(np.float32(-0.5)), Stored(np.float32(0.25))])
case("Clip", 13, [x(7), None, Stored(np.float32(0.25))])
case("Clip", 13, [x(7), np.float32(-0.3)])
case("Clip", 13, [ints(-3, 1, 9), Stored(np.int64(0)), Stored(np.int64(5))])
for axis in (0, 1, 2):
    case("Softmax", 11, [x(2, 3, 4)], axis=axis)
    case("Softmax", 13, [x(2, 3, 4)], axis=axis)
case("LogSoftmax", 11, [x(2, 3, 4)], axis=1)
case("LogSoftmax", 13, [x(2, 3, 4)])
for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
    case(op, 16, [ints(1, 2, 3), ints(2)])
    case(op, 16, [np.float32([1, 2, 3]), np.float32([2])])
for op in ("And", "Or", "Xor"):
    case(op, 13, [np.array([[True], [False]]), np.array([True, False])])
case("Not", 13, [np.array([True, False])])
case("IsNaN", 13, [np.float32([1, np.nan])])
case("IsInf", 10, [np.float32([1, np.inf, -np.inf])])
case("IsInf", 10, [np.float32([1, np.inf, -np.inf])], detect_positive=0)
case("Where", 16, [np.array([[True], [False]]), x(3), x(2, 3)])
case("Where", 16, [np.array([True, False]), ints(1, 2), Stored(ints(7))])
for to in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL):
    case("Cast", 13, [np.float32([-1.5, 0, 2.7])], to=to)
case("Cast", 13, [np.array([True, False])], to=TensorProto.FLOAT)
case("CastLike", 15, [np.float32([-1.5, 2.7]), ints(1)])

# Positions of elements.
case("Flatten", 13, [x(2, 3, 4)], axis=2)
case("Flatten", 13, [x(2, 3, 4)], axis=0)
case("Flatten", 13, [x(2, 3, 4)], axis=-1)
case("Squeeze", 11, [x(1, 3, 1)], axes=[0])
case("Squeeze", 13, [x(1, 3, 1), Stored(ints(-1))])
case("Squeeze", 13, [x(1, 3, 1)])
case("Unsqueeze", 11, [x(3, 4)], axes=[0, 2])
case("Unsqueeze", 13, [x(3, 4), Stored(ints(-1, 0))])
case("Transpose", 13, [x(2, 3, 4)])
case("Transpose", 13, [x(2, 3, 4)], perm=[1, 0, 2])
case("Concat", 13, [x(2, 3), x(2, 1)], axis=-1)
case("Split", 11, [x(2, 5)], 2, axis=1, split=[2, 3])
case("Split", 13, [x(4, 2), Stored(ints(1, 3))], 2)
case("Split", 13, [x(4, 2)], 2)
case("Split", 18, [x(7, 2)], 3, num_outputs=3)
case("Slice", 9, [x(4, 5)], starts=[1, -3], ends=[9, -1], axes=[0, 1])
case("Slice", 13, [x(4, 5), Stored(ints(-1)), Stored(ints(-9223372036854775807)), Stored(ints(1)), Stored(ints(-1))])
case("Slice", 13, [x(4, 5), Stored(ints(3, 4)), Stored(ints(0, 1)), Stored(ints(0, -1)), Stored(ints(-2, -1))])
case("Slice", 13, [ints(1, 2, 3, 4), Stored(ints(1)), Stored(ints(1000)), Stored(ints(0)), Stored(ints(2))])
case("Gather", 13, [x(4, 3), ints(2, -1)])
case("Gather", 13, [Stored(x(4, 3)), np.array([[0, 1], [3, 3]])])
case("Gather", 13, [x(4, 3), Stored(np.int64(1))], axis=1)
case("GatherND", 13, [x(2, 3, 4), np.array([[0, 1], [1, -1]])])
case("GatherND", 13, [x(2, 3), Stored(np.array([[[0, 1]], [[1, 2]]]))])
case("GatherElements", 13, [x(3, 4), np.array([[0, 2, -1], [1, 1, 0]])], axis=1)
case("GatherElements", 13, [x(3, 4), np.array([[2, 0, 1, -1]])], axis=0)
case("ScatterND", 13, [x(4, 3), Stored(np.array([[2], [0]])), x(2, 3)])
case("ScatterND", 13, [x(2, 3, 2), Stored(np.array([[1, -1], [0, 0]])), Stored(x(2, 2))])
case("ScatterElements", 13, [x(3, 4), Stored(np.array([[0, 2, -1], [1, 3, 0]])), x(2, 3)], axis=1)
case("Expand", 13, [x(3, 1), Stored(ints(2, 1, 4))])
case("Expand", 13, [np.array([True]), Stored(ints(2, 3))])
case("Tile", 13, [x(2, 3), Stored(ints(2, 3))])
case("Pad", 2, [x(2, 3)], pads=[0, 1, 1, 0], value=2.0)
case("Pad", 13, [x(2, 3), Stored(ints(0, 1, 1, 0)), Stored(np.float32(1.5))])
case("Pad", 13, [x(3, 4), Stored(ints(1, 2, 1, 1))], mode="reflect")
case("Pad", 18, [x(3, 4), Stored(ints(1, 2)), None, Stored(ints(-1))], mode="edge")
case("Pad", 13, [ints(4, 5), Stored(ints(1, 2)), Stored(np.int64(7))])
case("Range", 11, [Stored(np.int64(7)), Stored(np.int64(1)), Stored(np.int64(-2))])
case("Range", 11, [Stored(np.float32(0)), Stored(np.float32(1)), Stored(np.float32(0.3))])
case("Trilu", 14, [x(2, 3, 4)], upper=0)
case("Trilu", 14, [x(3, 4), Stored(np.int64(1))])
case("Trilu", 14, [np.array([[1, 2], [3, 4]]), Stored(np.int64(-1))], upper=0)
case("OneHot", 11, [ints(0, 2, -1, 5), Stored(np.int64(3)), Stored(np.float32([-1, 4]))])
case("OneHot", 11, [np.array([[0, 2], [1, 1]]), Stored(np.int64(3)), Stored(np.float32([0, 1]))], axis=0)
case("DepthToSpace", 13, [x(1, 8, 2, 3)], blocksize=2)
case("DepthToSpace", 13, [x(1, 8, 2, 3)], blocksize=2, mode="CRD")
case("SpaceToDepth", 13, [x(1, 2, 4, 6)], blocksize=2)
case("Shape", 15, [x(2, 3, 4)], start=1)
case("Size", 13, [x(2, 3, 4)])

# Along axes.
for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
           "ReduceLogSumExp"):
    case(op, 11, [x(2, 3, 4)], axes=[0, -1], keepdims=0)
    case(op, 18, [x(2, 3, 4), Stored(ints(1))])
case("ReduceLogSum", 11, [positive(2, 3)])
case("ReduceSum", 13, [ints(3, 4, 5)])
case("ReduceMax", 18, [ints(3, 9, 5)], keepdims=0)
case("ReduceSum", 13, [x(2, 3), Stored(ints())], noop_with_empty_axes=1)
for op in ("ArgMax", "ArgMin"):
    case(op, 13, [np.float32([[1, 3, 3], [0, 0, -1]])], axis=1)
    case(op, 13, [np.float32([[1, 3, 3], [0, 0, -1]])], axis=0, keepdims=0, select_last_index=1)
for exclusive in (0, 1):
    for reverse in (0, 1):
        case("CumSum", 14, [x(2, 5), Stored(np.int64(1))], exclusive=exclusive, reverse=reverse)
case("CumSum", 14, [ints(1, 2, 3), Stored(np.int64(0))])
case("MatMul", 13, [x(2, 3), Stored(x(3, 4))])
case("MatMul", 13, [x(2, 1, 2, 3), x(4, 3, 5)])
case("MatMul", 13, [x(3), x(2, 3, 4)])
case("Gemm", 13, [x(2, 3), Stored(x(4, 3)), Stored(x(4))], transB=1)
case("Gemm", 13, [x(3, 2), Stored(x(3, 4)), Stored(x(2, 1))], transA=1, alpha=0.5, beta=2.0)
for equation, shapes in (("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("ij,kj->ki", ((3, 4), (5, 4))), ("ijk->kj", ((2, 3, 4), )),
                         ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))), ("...ij,...jk->...ik", ((2, 3, 4), (2, 4, 2))),
                         ("ij,j->i", ((3, 4), (4, ))), ("i,j->ij", ((3, ), (4, ))), ("ij,ij->", ((3, 4), (3, 4))),
                         ("bnd,de,bme->bnm", ((2, 3, 4), (4, 5), (2, 2, 5))), ("ij,jk", ((2, 3), (3, 4)))):
    case("Einsum", 12, [x(*shape) for shape in shapes], equation=equation)

# Normalisations.
case("BatchNormalization", 15, [x(2, 3, 2, 2)] + [Stored(a) for a in (x(3), x(3), x(3), positive(3))], epsilon=1e-3)
case("BatchNormalization", 9, [x(4, 3)] + [Stored(a) for a in (x(3), x(3), x(3), positive(3))])
case("InstanceNormalization", 6, [x(2, 3, 4, 2), Stored(x(3)), Stored(x(3))])
case("GroupNormalization", 21, [x(2, 4, 3), Stored(x(4)), Stored(x(4))], num_groups=2)
case("GroupNormalization", 18, [x(2, 4, 3), Stored(x(2)), Stored(x(2))], num_groups=2)
case("LayerNormalization", 17, [x(2, 3, 4), Stored(x(4)), Stored(x(4))])
case("LayerNormalization", 17, [x(2, 3, 4), Stored(x(3, 4))], 3, axis=1)
case("LRN", 13, [x(1, 5, 2, 2)], size=3, alpha=0.1)
case("LpNormalization", 1, [x(2, 5)])
case("LpNormalization", 1, [x(2, 5)], p=1, axis=0)
case("MeanVarianceNormalization", 13, [x(2, 3, 2, 2)])
case("Dropout", 13, [x(5)])
case("Dropout", 13, [x(5), Stored(np.float32(0.3))], 2)

# Windows.
case("Conv", 11, [x(1, 2, 7), Stored(x(4, 1, 3)), Stored(x(4))], group=2, strides=[2], pads=[1, 0], dilations=[2])
case("Conv", 11, [x(1, 2, 6, 5), Stored(x(4, 2, 3, 2))], auto_pad="SAME_LOWER", strides=[2, 2])
case("AveragePool", 11, [x(1, 2, 5, 5)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 1])
case("AveragePool", 11, [x(1, 2, 5, 5)], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
case("AveragePool", 11, [x(1, 2, 5, 5)], kernel_shape=[3, 2], auto_pad="SAME_UPPER", count_include_pad=1)
case("AveragePool", 19, [x(1, 2, 8)], kernel_shape=[3], dilations=[2], pads=[1, 1])
case("MaxPool", 12, [x(1, 2, 8)], kernel_shape=[3], strides=[2], pads=[1, 1])
case("LpPool", 18, [x(1, 2, 5, 5)], kernel_shape=[2, 2], p=3)
for op in ("GlobalAveragePool", "GlobalMaxPool"):
    case(op, 1, [x(2, 3, 4, 5)])
    case(op, 1, [x(2, 3, 4)])
case("ConvTranspose", 11, [x(1, 4, 3, 4), Stored(x(4, 2, 3, 2)), Stored(x(2))], strides=[2, 3], pads=[1, 0, 0, 1])
case("ConvTranspose", 11, [x(1, 4, 3, 4), Stored(x(4, 3, 3, 3))], group=2, output_padding=[1, 1], strides=[2, 2], dilations=[1, 2])
case("ConvTranspose", 11, [x(1, 2, 4, 3), Stored(x(2, 3, 3, 3))], auto_pad="SAME_UPPER", strides=[2, 2])
case("ConvTranspose", 11, [x(1, 2, 4, 3), Stored(x(2, 3, 3, 3))], output_shape=[9, 7], strides=[2, 2])
case("ConvTranspose", 11, [x(1, 2, 5), Stored(x(2, 3, 4))], strides=[2], pads=[1, 1])
for mode, coordinates, nearest in (("nearest", "half_pixel", "round_prefer_floor"), ("nearest", "asymmetric", "floor"),
                                   ("nearest", "align_corners", "ceil"), ("linear", "half_pixel", "floor"),
                                   ("linear", "align_corners", "floor"), ("linear", "asymmetric", "floor"),
                                   ("linear", "pytorch_half_pixel", "floor")):
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
    case("Resize", 13, [x(1, 2, 4, 5), None, None, Stored(ints(1, 2, 7, 3))], **attrs)
    case("Resize", 13, [x(1, 2, 4, 5), None, Stored(np.float32([1, 1, 2, 1.5]))], **attrs)
case("Resize", 10, [x(1, 1, 2, 3), Stored(np.float32([1, 1, 2, 2]))])
case("Resize", 18, [x(1, 1, 4, 6), None, None, Stored(ints(2, 9))], mode="linear", axes=[2, 3])
case("Resize", 13, [x(1, 2, 5), None, Stored(np.float32([1, 1, 2]))], mode="linear")
case("Upsample", 9, [x(1, 2, 3, 2), Stored(np.float32([1, 1, 2, 3]))])
case("Upsample", 7, [x(1, 2, 3, 2)], mode="linear", scales=[1.0, 1.0, 2.0, 2.0])

# Recurrent layers.
case("LSTM", 14, [x(4, 2, 3)] + weights(4, 3, 5), 3, hidden_size=5)
case("LSTM", 14, [x(4, 2, 3)] + weights(4, 3, 5, 2) + [Stored(x(2, 40)), None, x(2, 2, 5), x(2, 2, 5)], 3, hidden_size=5,
     direction="bidirectional")
case("LSTM", 14, [x(4, 2, 3)] + weights(4, 3, 5) + [Stored(x(1, 40))], 1, hidden_size=5, direction="reverse")
for linear in (0, 1):
    case("GRU", 14, [x(4, 2, 3)] + weights(3, 3, 5) + [Stored(x(1, 30))], 2, hidden_size=5, linear_before_reset=linear)
    case("GRU", 14, [x(4, 2, 3)] + weights(3, 3, 5, 2) + [Stored(x(2, 30)), None, x(2, 2, 5)], 2, hidden_size=5,
         linear_before_reset=linear, direction="bidirectional")
case("RNN", 14, [x(4, 2, 3)] + weights(1, 3, 5) + [Stored(x(1, 10))], 2, hidden_size=5)
case("RNN", 14, [x(4, 2, 3)] + weights(1, 3, 5), 2, hidden_size=5, activations=["Relu"])
for direction, dirs in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
    lengths = np.array([3, 5, 1], np.int32)
    states = [x(dirs, 3, 5), x(dirs, 3, 5)]
    case("LSTM", 14, [x(5, 3, 3)] + weights(4, 3, 5, dirs) + [Stored(x(dirs, 40)), Stored(lengths)] + states, 3,
         hidden_size=5, direction=direction)
    case("GRU", 14, [x(5, 3, 3)] + weights(3, 3, 5, dirs) + [Stored(x(dirs, 30)), lengths] + states[:1], 2,
         hidden_size=5, direction=direction, linear_before_reset=dirs - 1)
    case("RNN", 14, [x(5, 3, 3)] + weights(1, 3, 5, dirs) + [None, lengths], 2, hidden_size=5, direction=direction)


def tensor(name, array):
    return {"name": name, "type": str(array.dtype), "shape": list(array.shape), "data": numbers(array)}


def numbers(array):
    """Floats with all their digits; values that JSON cannot hold become text."""
    def one(v):
        if array.dtype == np.float32:
            return float(str(v)) if np.isfinite(v) else str(v)
        return int(v)

    return [one(v) for v in array.reshape(-1)]


def as_json(attribute):
    return {"graph": attribute.SerializeToString().hex()} if isinstance(attribute, onnx.GraphProto) else attribute


def answer(op, opset, inputs, outputs, attrs):
    attrs = dict(attrs)
    written = attrs.pop("written", True)  # False: the network has no form in the files that headroom writes
    domain = attrs.pop("domain", "")
    reads = attrs.pop("reads", len(inputs))  # of the inputs; graphs inside the node may read the others
    names, arrays, stored = [], [], []
    for k, given in enumerate(inputs):
        name = "" if given is None else f"x{k}"
        names.append(name)
        if isinstance(given, Stored):
            stored.append((name, given.array))
        elif given is not None:
            arrays.append((name, np.asarray(given)))
    out = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, names[:reads], out, domain=domain, **attrs)
    graph = helper.make_graph(
        [node], op,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays],
        [helper.make_empty_tensor_value_info(n) for n in out], [numpy_helper.from_array(a, n) for n, a in stored])
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=sets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns about old operator sets
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(out, dict(arrays))
    marks = ({} if written else {"written": False}) | ({"domain": domain} if domain else {})
    return marks | {
        "op": op, "opset": opset, "attributes": {k: as_json(v) for k, v in attrs.items()}, "reads": names[:reads],
        "inputs": [tensor(n, a) for n, a in arrays], "stored": [tensor(n, a) for n, a in stored],
        "outputs": [tensor(n, np.asarray(r)) for n, r in zip(out, results)]
    }


def main(name="onnx_operators.json"):
    here = pathlib.Path(__file__).parent
    lines = []
    for given in CASES:
        try:
            lines.append(json.dumps(answer(*given)))
        except Exception as error:
            print(f"left out: {given[0]} of opset {given[1]} {given[4]}: {str(error)[:200]}")
    (here / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} cases, by onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    main()

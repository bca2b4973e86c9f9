"""Writes detector/: a small detector with NonMaxSuppression at its end, two images and onnxruntime's results.

The network has two convolutions and a head over an 8x8 grid with two anchors, four classes. Boxes are decoded from the
grid; the rows that NonMaxSuppression selects are gathered to x1, y1, x2, y2, score, class. The second image is black:
nothing is found in it. Needs onnx and onnxruntime.
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SIDE, GRID, ANCHORS, CLASSES = 32, 8, 2, 4
RANDOM = np.random.RandomState(7)
NODES, TENSORS = [], []


def stored(name, array):
    TENSORS.append(numpy_helper.from_array(np.asarray(array), name))
    return name


def floats(name, *values):
    return stored(name, np.array(values[0] if len(values) == 1 else values, np.float32))


def ints(name, *values):
    return stored(name, np.array(values, np.int64))


def node(op, inputs, output, **attrs):
    NODES.append(helper.make_node(op, inputs, [output], name=output, **attrs))
    return output


def conv(x, name, channels, features, kernel, gain=1.0, bias=0.0, **attrs):
    weight = RANDOM.randn(features, channels, kernel, kernel) * gain * (2 / (channels * kernel * kernel))**0.5
    return node("Conv", [x, floats(f"{name}.weight", weight), floats(f"{name}.bias", np.full(features, bias))], name, **attrs)


def columns(x, name, begin, end, axis):
    return node("Slice", [x, ints(f"{name}.begin", begin), ints(f"{name}.end", end), ints(f"{name}.axis", axis)], name)


def decoded(head):
    """Boxes [1, 128, 4] as y1, x1, y2, x2 and scores [1, 4, 128]."""
    rows = node("Reshape", [head, ints("apart", 0, ANCHORS, 4 + CLASSES, GRID * GRID)], "rows")
    rows = node("Transpose", [rows], "last", perm=[0, 1, 3, 2])
    rows = node("Reshape", [rows, ints("flat", 0, ANCHORS * GRID * GRID, 4 + CLASSES)], "anchors")
    cells = np.stack(np.meshgrid(np.arange(GRID), np.arange(GRID), indexing="ij"), -1).reshape(-1, 2) * 4.0 + 2
    centers = node("Mul", [node("Tanh", [columns(rows, "moves", 0, 2, 2)], "moved"), floats("reach", 4.0)], "shift")
    centers = node("Add", [centers, floats("cells", np.tile(cells, (ANCHORS, 1)))], "centers")
    sizes = np.repeat([[10.0, 10.0], [6.0, 14.0]], GRID * GRID, 0) / 2
    halves = node("Mul", [node("Exp", [columns(rows, "scales", 2, 4, 2)], "grown"), floats("sizes", sizes)], "halves")
    boxes = node("Concat", [node("Sub", [centers, halves], "low"), node("Add", [centers, halves], "high")], "boxes", axis=2)
    scores = node("Sigmoid", [columns(rows, "logits", 4, 4 + CLASSES, 2)], "probabilities")
    return boxes, node("Transpose", [scores], "scores", perm=[0, 2, 1])


def gathered(boxes, scores, selected):
    box = node("Squeeze", [columns(selected, "box_column", 2, 3, 1), ints("one", 1)], "box")
    kind = node("Squeeze", [columns(selected, "class_column", 1, 2, 1), ints("one_more", 1)], "class")
    corners = node("Gather", [node("Squeeze", [boxes, ints("zero", 0)], "all_boxes"), box], "corners", axis=0)
    places = node("Concat", [node("Unsqueeze", [kind, ints("back", 1)], "k"), node("Unsqueeze", [box, ints("too", 1)], "b")],
                  "places", axis=1)
    score = node("GatherND", [node("Squeeze", [scores, ints("none", 0)], "all_scores"), places], "score")
    score = node("Unsqueeze", [score, ints("after", 1)], "score_column")
    label = node("Cast", ["k"], "label", to=TensorProto.FLOAT)
    swapped = node("Gather", [corners, ints("order", 1, 0, 3, 2)], "swapped", axis=1)
    return node("Concat", [swapped, score, label], "detections", axis=1)


def detector():
    x = node("Relu", [conv("image", "conv1", 3, 8, 3, strides=[2, 2], pads=[1, 1, 1, 1])], "relu1")
    x = node("Relu", [conv(x, "conv2", 8, 16, 3, strides=[2, 2], pads=[1, 1, 1, 1])], "relu2")
    boxes, scores = decoded(conv(x, "head", 16, ANCHORS * (4 + CLASSES), 1, gain=0.4, bias=-0.25))
    selected = node("NonMaxSuppression",
                    [boxes, scores, ints("most", 10), floats("overlap", [0.45]), floats("least", [0.68])], "selected")
    gathered(boxes, scores, selected)
    graph = helper.make_graph(
        NODES, "detector", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("detections", TensorProto.FLOAT, ["found", 6]),
         helper.make_tensor_value_info("selected", TensorProto.INT64, ["found", 3])], TENSORS)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    folder = pathlib.Path(__file__).parent / "detector"
    model = detector()
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for k, image in enumerate((RANDOM.randn(1, 3, SIDE, SIDE).round(2), np.zeros((1, 3, SIDE, SIDE)))):
        data = folder / f"test_data_set_{k}"
        data.mkdir(exist_ok=True)
        image = image.astype(np.float32)
        results = session.run(None, {"image": image})
        print([r.shape for r in results])
        for name, array in [("input_0", image)] + [(f"output_{i}", r) for i, r in enumerate(results)]:
            (data / f"{name}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())


if __name__ == "__main__":
    main()

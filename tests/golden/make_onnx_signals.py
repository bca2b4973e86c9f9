"""Writes onnx_signals.json: graphs of one ONNX node each, as make_onnx_operators.py does. Here are Fourier transforms,
losses, key-value caches, paddings and casts of few bits."""

import numpy as np

import make_onnx_operators as base
from make_onnx_operators import Stored, case, ints, x

base.CASES.clear()
base.RANDOM.seed(23)

for parts in (1, 2):
    case("DFT", 17, [x(2, 6, parts)], axis=1)
    case("DFT", 17, [x(2, 5, 3, parts)], axis=2)
    case("DFT", 20, [x(2, 5, 3, parts), None, Stored(np.int64(-2))])
    case("DFT", 20, [x(2, 7, parts), Stored(np.int64(4)), Stored(np.int64(1))])
case("DFT", 20, [x(2, 4, 2), Stored(np.int64(6)), Stored(np.int64(1))])
case("DFT", 20, [x(2, 5, 2), None, Stored(np.int64(1))], inverse=1)
for length in (5, 6):
    case("DFT", 20, [x(2, length, 1), None, Stored(np.int64(1))], onesided=1)

targets = np.array([[1, 0, 2], [2, 2, 1]], np.int64)
for reduction in ("none", "sum", "mean"):
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        case(op, 13, [x(2, 4), Stored(ints(3, 0))], reduction=reduction)
        case(op, 13, [x(2, 3, 3), targets, Stored(abs(x(3)))], reduction=reduction)
        case(op, 13, [x(2, 3, 3), targets, Stored(abs(x(3)))], reduction=reduction, ignore_index=2)
        case(op, 13, [x(2, 3, 3), targets], reduction=reduction, ignore_index=0)
case("SoftmaxCrossEntropyLoss", 13, [x(3, 5), ints(4, 0, 2)], 2)

case("TensorScatter", 24, [x(2, 3, 4, 5), x(2, 3, 2, 5), ints(1, 2)])
case("TensorScatter", 24, [x(2, 3, 4, 5), x(2, 3, 2, 5), ints(3, 1)], mode="circular")
case("TensorScatter", 24, [x(2, 4, 3), x(2, 3, 3)], axis=1)

case("GatherND", 12, [x(2, 3, 4), Stored(ints(1, 0).reshape(2, 1))], batch_dims=1)
case("GatherND", 12, [x(2, 3, 4, 2), np.array([[[1, 3], [-1, 0]], [[0, 0], [2, -2]]], np.int64)], batch_dims=1)
case("GatherND", 12, [x(2, 3, 4), np.array([[[1], [0], [3]], [[2], [2], [-4]]], np.int64)], batch_dims=2)
case("Pad", 19, [x(2, 3), Stored(ints(1, 2, 0, 4))], mode="wrap")
case("Pad", 19, [x(3, 4), Stored(ints(1, -1, 2, 2))], mode="wrap")
case("CenterCropPad", 18, [x(5, 4, 3), Stored(ints(3, 7, 3))])
case("CenterCropPad", 18, [x(2, 4, 7), Stored(ints(5, 4))], axes=[1, -1])

if __name__ == "__main__":
    base.main("onnx_signals.json")

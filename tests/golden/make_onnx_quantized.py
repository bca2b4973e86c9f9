"""Writes onnx_quantized.json: graphs of one quantised ONNX node each, and onnxruntime's results.

Needs onnx and onnxruntime; make_onnx_operators.py says what the file holds.
"""

import numpy as np
from make_onnx_operators import CASES, Stored, case, main

CASES.clear()
RANDOM = np.random.RandomState(8)


def floats(*shape, scale=1.0):
    return np.round(RANDOM.randn(*shape) * scale, 3).astype(np.float32)


def whole(dtype, *shape):
    info = np.iinfo(dtype)
    return RANDOM.randint(info.min, info.max + 1, shape).astype(dtype)


def one(value, dtype=np.float32):
    return Stored(np.array(value, dtype))


def many(values, dtype=np.float32):
    return Stored(np.array(values, dtype))


# Halves go to the even neighbour, and both ends saturate.
HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 127.5, -300, 300, 1e9, -1e9, 0], np.float32)
for dtype in (np.uint8, np.int8):
    for zero in (0, 3, np.iinfo(dtype).max, np.iinfo(dtype).min):
        case("QuantizeLinear", 10, [HALVES, one(1), one(zero, dtype)])
    case("QuantizeLinear", 13, [floats(2, 3, 4, scale=9), many([0.11, 0.25, 0.7]), many([1, 0, 9], dtype)], axis=1)
    case("QuantizeLinear", 19, [floats(3, 4, scale=9), many([0.11, 0.25, 0.7, 1.3]), many([1, 0, 9, 4], dtype)],
         axis=-1)
    case("DequantizeLinear", 10, [whole(dtype, 5), one(0.037), one(7, dtype)])
    case("DequantizeLinear", 13, [whole(dtype, 2, 3, 2), many([0.1, 2, 0.03]), many([1, 0, 9], dtype)], axis=1)
    case("DequantizeLinear", 13, [whole(dtype, 6), one(0.037)])
case("QuantizeLinear", 10, [floats(7, scale=50), one(0.6)])
case("QuantizeLinear", 13, [floats(7, scale=50), np.float32(0.6), np.uint8(20)])
case("QuantizeLinear", 21, [floats(2, 8, scale=5), many(np.linspace(0.1, 0.8, 8).reshape(2, 4)),
                            many(np.arange(8).reshape(2, 4), np.int8)], axis=1, block_size=2)
case("DequantizeLinear", 21, [whole(np.uint8, 4, 3), many(np.linspace(0.1, 0.6, 6).reshape(2, 3)),
                              many(np.arange(6).reshape(2, 3), np.uint8)], axis=0, block_size=2)
case("DequantizeLinear", 13, [np.array([-70000, 12, 900000], np.int32), one(0.001)])
for values in ([0, 2, -3, -2.4, 1.34, 0.51], [1, 2.1, 1.3, 2.5, 3.34, 4], [-1, -2.1, -1.3, -2.5, -3.34, -4], [0, 0]):
    case("DynamicQuantizeLinear", 11, [np.array(values, np.float32)], 3)

# Products.
case("MatMulInteger", 10, [whole(np.uint8, 3, 5), whole(np.int8, 5, 4)])
case("MatMulInteger", 10, [whole(np.uint8, 3, 5), whole(np.uint8, 5, 4), one(12, np.uint8), one(200, np.uint8)])
case("MatMulInteger", 10, [whole(np.int8, 2, 3, 5), Stored(whole(np.int8, 5, 4)), one(-7, np.int8), one(3, np.int8)])
case("MatMulInteger", 10, [whole(np.uint8, 3, 9), Stored(whole(np.int8, 9, 4)), one(5, np.uint8), many([1, -2, 3, 0],
                                                                                                       np.int8)])
case("ConvInteger", 10, [whole(np.uint8, 1, 2, 5, 4), whole(np.uint8, 3, 2, 3, 3), one(9, np.uint8), one(4,
                                                                                                         np.uint8)],
                                                                                                         pads=[1, 0,
                                                                                                               1, 2])
case("ConvInteger", 10, [whole(np.uint8, 2, 4, 6, 5), Stored(whole(np.int8, 4, 2, 2, 3)), one(100, np.uint8)],
     group=2, strides=[2, 1])
for b in (np.uint8, np.int8):
    case("QLinearMatMul", 10, [whole(np.uint8, 3, 7), one(0.02), one(113, np.uint8), Stored(whole(b, 7, 4)), one(0.015),
                               one(3, b), one(0.1), one(118, np.uint8)])
case("QLinearMatMul", 10, [whole(np.int8, 2, 3, 7), one(0.02), one(-3, np.int8), Stored(whole(np.int8, 7, 4)),
                           one(0.015),
                           one(3, np.int8), one(0.1), one(8, np.int8)])
BIAS = Stored(np.array([1000, -2000, 5], np.int32))
case("QLinearConv", 10, [whole(np.uint8, 2, 2, 6, 5), one(0.03), one(90, np.uint8), Stored(whole(np.int8, 3, 2, 3, 3)),
                         many([0.01, 0.02, 0.004]), many([0, 0, 0], np.int8), one(0.2), one(100, np.uint8), BIAS],
                         pads=[1, 1, 1, 1])
case("QLinearConv", 10, [whole(np.uint8, 1, 2, 6, 5), one(0.03), one(90, np.uint8), Stored(whole(np.uint8, 3, 2, 2, 2)),
                         one(0.01), one(120, np.uint8), one(0.2), one(100, np.uint8)], strides=[2, 2], dilations=[2, 1])
case("QLinearConv", 10, [whole(np.int8, 1, 4, 5, 5), one(0.03), one(9, np.int8), Stored(whole(np.int8, 4, 1, 3, 3)),
                         one(0.01), one(0, np.int8), one(0.1), one(-10, np.int8)], group=4)

# Those of onnxruntime's own domain.
own = {"domain": "com.microsoft"}
for op in ("QLinearAdd", "QLinearMul"):
    case(op, 17, [whole(np.uint8, 3, 4), one(0.02), one(120, np.uint8), whole(np.uint8, 4), one(0.05), one(7, np.uint8),
                  one(0.11), one(99, np.uint8)], **own)
case("QLinearSigmoid", 17, [whole(np.uint8, 9), one(0.05), one(120, np.uint8), one(0.004), one(0, np.uint8)], **own)
case("QLinearLeakyRelu", 17, [whole(np.uint8, 9), one(0.05), one(120, np.uint8), one(0.04), one(60, np.uint8)], alpha=0.2,
     **own)
case("QLinearGlobalAveragePool", 17, [whole(np.uint8, 2, 3, 4, 4), one(0.05), one(120, np.uint8), one(0.021),
                                      one(100, np.uint8)], **own)
case("QLinearConcat", 17, [one(0.07), one(90, np.uint8), whole(np.uint8, 2, 3), one(0.05), one(120, np.uint8),
                           whole(np.uint8, 2, 2), one(0.02), one(3, np.uint8)], axis=1, **own)

# Arithmetic of bytes wraps around; these operators also take them.
for dtype in (np.uint8, np.int8):
    case("MaxPool", 12, [whole(dtype, 1, 2, 4, 4)], kernel_shape=[2, 2], strides=[2, 2])
    case("Transpose", 13, [whole(dtype, 2, 3)], perm=[1, 0])
    case("Concat", 13, [whole(dtype, 2, 3), whole(dtype, 2, 1)], axis=1)
    case("Max", 13, [whole(dtype, 5), whole(dtype, 5)])
    case("ArgMax", 13, [whole(dtype, 3, 5)], axis=1)
    case("Cast", 13, [whole(dtype, 6)], to=1)
    case("Cast", 13, [abs(floats(6, scale=40))], to=2 if dtype == np.uint8 else 3)


if __name__ == "__main__":
    main("onnx_quantized.json")

"""Writes onnx_volumes.json: graphs of one ONNX node each, as make_onnx_operators.py does. Here are windows over three
axes."""

import make_onnx_operators as base
from make_onnx_operators import Stored, case, x

base.CASES.clear()
base.RANDOM.seed(22)

case("Conv", 11, [x(1, 2, 4, 5, 3), Stored(x(4, 1, 3, 2, 2)), Stored(x(4))], group=2, strides=[2, 1, 1],
     pads=[1, 0, 1, 2, 1, 0], dilations=[1, 2, 1])
case("Conv", 11, [x(2, 2, 3, 4, 5), Stored(x(3, 2, 2, 3, 2))], auto_pad="SAME_UPPER", strides=[2, 2, 3])
case("Conv", 11, [x(1, 3, 3, 4, 5), Stored(x(2, 3, 1, 1, 1)), Stored(x(2))])
case("Conv", 22, [x(1, 2, 4, 4, 4), Stored(x(2, 2, 3, 3, 3))], auto_pad="SAME_LOWER")
case("MaxPool", 12, [x(1, 2, 4, 5, 5)], kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=[1, 1, 0, 0, 1, 1])
case("MaxPool", 12, [x(1, 2, 3, 5, 4)], kernel_shape=[2, 2, 3], dilations=[1, 2, 1])
case("MaxPool", 12, [x(1, 2, 5, 5, 5)], kernel_shape=[2, 2, 2], strides=[2, 2, 2], ceil_mode=1)
case("AveragePool", 11, [x(1, 2, 4, 5, 5)], kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=[1, 1, 0, 0, 1, 1])
case("AveragePool", 11, [x(1, 2, 4, 4, 5)], kernel_shape=[3, 2, 3], pads=[1, 0, 1, 1, 1, 2], count_include_pad=1)
case("AveragePool", 19, [x(1, 1, 5, 4, 6)], kernel_shape=[2, 2, 2], dilations=[3, 1, 2])
case("AveragePool", 19, [x(1, 2, 5, 4, 5)], kernel_shape=[2, 3, 2], strides=[2, 2, 2], ceil_mode=1, pads=[0, 1, 0, 1, 1, 0])
case("LpPool", 18, [x(1, 2, 3, 4, 5)], kernel_shape=[2, 2, 3], p=2)
for op in ("GlobalAveragePool", "GlobalMaxPool"):
    case(op, 1, [x(2, 3, 2, 3, 4)])
case("ConvTranspose", 11, [x(1, 2, 3, 2, 3), Stored(x(2, 2, 2, 3, 2)), Stored(x(2))], strides=[2, 1, 3],
     pads=[1, 0, 1, 0, 1, 0])
case("ConvTranspose", 11, [x(1, 4, 2, 3, 2), Stored(x(4, 1, 3, 2, 2))], group=2, strides=[2, 2, 2],
     output_padding=[1, 0, 1], dilations=[1, 1, 2])
case("BatchNormalization", 15, [x(2, 3, 2, 2, 3), Stored(x(3)), Stored(x(3)), Stored(x(3)), Stored(abs(x(3)) + 1)])
case("InstanceNormalization", 6, [x(2, 3, 2, 2, 3), Stored(x(3)), Stored(x(3))])

if __name__ == "__main__":
    base.main("onnx_volumes.json")

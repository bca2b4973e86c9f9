"""Writes onnx_volumes.json: graphs of one ONNX node each, as make_onnx_operators.py does. Here are windows over three
axes, and recurrent layers with peepholes, clip and other functions."""

import numpy as np

import make_onnx_operators as base
from make_onnx_operators import Stored, case, weights, x

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

# LSTM: gates i, o, f, c; P has i, o, f.
lengths = np.array([4, 2, 0], np.int32)
for dirs, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional")):
    states = [x(dirs, 3, 5), x(dirs, 3, 5)]
    full = [Stored(x(dirs, 40)), None] + states + [Stored(x(dirs, 15))]
    case("LSTM", 14, [x(4, 3, 3)] + weights(4, 3, 5, dirs) + full, 3, hidden_size=5, direction=direction)
    case("LSTM", 14, [x(4, 3, 3)] + weights(4, 3, 5, dirs) + full, 3, hidden_size=5, direction=direction, clip=0.4)
case("LSTM", 14, [x(4, 3, 3)] + weights(4, 3, 5) + [None, Stored(lengths), None, None, Stored(x(1, 15))], 3, hidden_size=5)
case("LSTM", 14, [x(4, 3, 3)] + weights(4, 3, 5) + [Stored(x(1, 40)), lengths], 3, hidden_size=5, clip=0.5)
case("LSTM", 14, [x(4, 2, 3)] + weights(4, 3, 5), 3, hidden_size=5, input_forget=1)
case("LSTM", 14, [x(4, 2, 3)] + weights(4, 3, 5) + [Stored(x(1, 40))], 3, hidden_size=5,
     activations=["HardSigmoid", "ScaledTanh", "Softsign"], activation_alpha=[0.3, 1.5], activation_beta=[0.4, 0.5])
for linear in (0, 1):
    case("GRU", 14, [x(4, 2, 3)] + weights(3, 3, 5, 2) + [Stored(x(2, 30)), None, x(2, 2, 5)], 2, hidden_size=5, clip=0.6,
         direction="bidirectional", linear_before_reset=linear)
    case("GRU", 14, [x(4, 2, 3)] + weights(3, 3, 5), 2, hidden_size=5, linear_before_reset=linear,
         activations=["Softplus", "Elu"], activation_alpha=[0.7])
case("RNN", 14, [x(4, 2, 3)] + weights(1, 3, 5) + [Stored(x(1, 10))], 2, hidden_size=5, clip=0.7)
for name, alpha, beta in (("Affine", [0.5], [0.1]), ("LeakyRelu", [0.2], []), ("ThresholdedRelu", [0.3], []), ("Sigmoid", [], [])):
    case("RNN", 14, [x(4, 2, 3)] + weights(1, 3, 5), 2, hidden_size=5, activations=[name],
         **({"activation_alpha": alpha} if alpha else {}), **({"activation_beta": beta} if beta else {}))

if __name__ == "__main__":
    base.main("onnx_volumes.json")

"""Writes onnx_detection.json: graphs of one ONNX node each, as make_onnx_operators.py does. Here are functions of one
element, bits, scatters, selections, resizes of any form, attention, and the operators at the end of detectors."""

import numpy as np

import make_onnx_operators as base
from make_onnx_operators import Stored, case, ints, positive, x

base.CASES.clear()
base.RANDOM.seed(21)

# Functions of one element, at their corners too.
for op in ("Tan", "Atan", "Sinh", "Cosh", "Asinh"):
    case(op, 9, [np.append(x(9) * 2, np.float32([0, -0.0])).astype(np.float32)])
for op in ("Asin", "Acos", "Atanh"):
    case(op, 9, [np.float32([-1, -0.999, -0.5, -0.0, 0, 0.25, 0.999, 1, 1.5])])
case("Acosh", 9, [np.float32([1, 1.0001, 1.5, 3, 100, 0.5])])
case("Shrink", 9, [x(9)], lambd=0.4, bias=0.1)
case("Shrink", 9, [x(9)])
for axis in (0, 1, -1):
    case("Hardmax", 11, [np.float32([[[3, 1, 3], [0, 2, 2]], [[1, 1, 0], [5, 4, 6]]])], axis=axis)
    case("Hardmax", 13, [np.float32([[[3, 1, 3], [0, 2, 2]], [[1, 1, 0], [5, 4, 6]]])], axis=axis)

# Bits and small integers.
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    case(op, 18, [ints(12, -7, 255), ints(10)])
    case(op, 18, [np.int32([[12], [-7]]), np.int32([10, 3, -1])])
    case(op, 18, [np.uint8([12, 200]), np.uint8([10, 255])])
case("BitwiseNot", 18, [ints(0, -1, 77)])
case("BitwiseNot", 18, [np.uint8([0, 200, 255])])
for direction in ("LEFT", "RIGHT"):
    case("BitShift", 11, [np.uint8([1, 200, 255]), np.uint8([1, 2, 7])], direction=direction, written=False)
for op in ("Add", "Sub", "Mul", "Div"):
    case(op, 14, [np.uint8([200, 7, 3]), np.uint8([100, 2, 5])])
for op in ("Max", "Min"):
    case(op, 13, [np.uint8([200, 7, 3]), np.uint8([100, 2, 5])])
case("Mod", 13, [np.uint8([200, 7]), np.uint8([99, 2])])
case("ReduceMax", 20, [np.array([[True, False], [False, False]]), Stored(ints(1))])
case("ReduceMin", 20, [np.array([[True, False], [True, True]]), Stored(ints(1))])
case("ReduceMax", 20, [np.uint8([[200, 7], [3, 9]]), Stored(ints(0))], keepdims=0)
case("Clip", 13, [np.uint8([200, 7, 30]), Stored(np.uint8(10)), Stored(np.uint8(100))])
case("ReduceProd", 13, [1 + 0.1 * x(2, 131)], axes=[1])
case("ReduceProd", 13, [ints(2, 3, 4, 5, 6, 7, 8)])

# Scatters.
rows = np.array([[2], [0], [2]])
for reduction in ("none", "add", "mul", "max", "min"):
    opset = 18
    case("ScatterND", opset, [x(4, 3), rows[:2] if reduction == "none" else rows, x(2 if reduction == "none" else 3, 3)],
         reduction=reduction)
    case("ScatterND", opset, [x(2, 3, 2), np.array([[1, -1], [0, 0]]), x(2, 2)], reduction=reduction)
    case("ScatterElements", opset, [x(3, 4), np.array([[0, 2, -1], [1, 3, 0]]), x(2, 3)], axis=1, reduction=reduction)
    case("ScatterElements", opset, [ints(1, 2, 3, 4), ints(3, 0), ints(7, -7)], reduction=reduction)
case("ScatterElements", 18, [x(5), Stored(ints(1, 1, 3)), x(3)], reduction="add")
case("Scatter", 9, [x(3, 4), np.array([[0, 2, 1]]), x(1, 3)], axis=1)

# Selections.
case("Compress", 11, [x(3, 4), Stored(np.array([True, False, True]))], axis=0)
case("Compress", 11, [x(3, 4), Stored(np.array([False, True, False, True]))], axis=-1)
case("Compress", 11, [x(3, 4), Stored(np.array([False, True, True, False, True]))])
case("ReverseSequence", 10, [x(4, 3, 2), ints(2, 4, 1)])
case("ReverseSequence", 10, [x(3, 4), ints(2, 4, 0)], time_axis=1, batch_axis=0)
case("ReverseSequence", 10, [x(4, 2), Stored(ints(3, 1))])
case("Einsum", 12, [x(3, 3)], equation="ii->i")
case("Einsum", 12, [x(2, 3, 3)], equation="bii")
case("Einsum", 12, [x(2, 3, 3), x(3, 4)], equation="bii,ij->bj")

# Resizes.
for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"):
    attrs = {"mode": "cubic", "coordinate_transformation_mode": coordinates}
    case("Resize", 19, [x(1, 2, 4, 5), None, None, Stored(ints(1, 2, 7, 3))], **attrs)
    case("Resize", 19, [x(1, 2, 4, 5), None, None, Stored(ints(1, 2, 9, 8))], cubic_coeff_a=-0.5, exclude_outside=1, **attrs)
for mode in ("linear", "cubic"):
    case("Resize", 19, [x(1, 1, 6, 8), None, None, Stored(ints(1, 1, 3, 3))], mode=mode, antialias=1)
    case("Resize", 19, [x(1, 1, 6, 8), None, Stored(np.float32([1, 1, 0.5, 0.75]))], mode=mode, antialias=1)
for mode in ("nearest", "linear"):
    case("Resize", 13, [x(1, 1, 5, 6), Stored(np.float32([0, 0, 0.2, 0.4, 1, 1, 0.9, 1.3])), None, Stored(ints(1, 1, 4, 5))],
         mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0)
case("Resize", 13, [x(1, 1, 3, 4, 2), None, None, Stored(ints(1, 1, 5, 3, 4))], mode="linear")
case("Resize", 13, [x(3, 4), None, None, Stored(ints(5, 7))])
case("Resize", 13, [x(3, 4), None, None, Stored(ints(5, 7))], mode="linear")
for policy in ("not_larger", "not_smaller"):
    case("Resize", 18, [x(1, 1, 4, 6), None, None, Stored(ints(9, 8))], mode="linear", axes=[2, 3],
         keep_aspect_ratio_policy=policy)

# Attention.
mask = np.array([[True, False, True, True], [True, True, False, True], [False, False, False, False]])
case("Attention", 23, [x(2, 2, 3, 4), x(2, 2, 4, 4), x(2, 2, 4, 5)])
case("Attention", 23, [x(2, 3, 8), x(2, 4, 4), x(2, 4, 6)], q_num_heads=4, kv_num_heads=2, scale=0.3)
case("Attention", 23, [x(1, 2, 3, 4), x(1, 2, 4, 4), x(1, 2, 4, 4), mask[:2].repeat(2, 0)[:3]], softcap=2.0)
case("Attention", 23, [x(1, 2, 3, 4), x(1, 2, 4, 4), x(1, 2, 4, 4), x(3, 4)], is_causal=1)
case("Attention", 23, [x(1, 2, 2, 4), x(1, 2, 2, 4), x(1, 2, 2, 4), None, x(1, 2, 3, 4), x(1, 2, 3, 4)], 3, is_causal=1)
case("RotaryEmbedding", 23, [x(2, 2, 3, 4), x(5, 2), x(5, 2), np.array([[0, 1, 2], [2, 3, 4]])])
case("RotaryEmbedding", 23, [x(2, 3, 8), x(2, 3, 2), x(2, 3, 2)], num_heads=2, interleaved=1)
case("RotaryEmbedding", 23, [x(2, 2, 3, 6), x(5, 2), x(5, 2), np.array([[0, 1, 2], [2, 3, 4]])], rotary_embedding_dim=4)

# The end of detectors. Boxes of whole numbers have exact overlaps; some are equal, some have no area.
boxes = np.float32([[[0, 0, 10, 10], [0, 1, 10, 11], [20, 20, 30, 30], [21, 20, 31, 30], [5, 5, 5, 9], [10, 10, 0, 0],
                     [40, 40, 50, 50]]])
scores = np.float32([[[0.9, 0.8, 0.7, 0.75, 0.6, 0.5, 0.4], [0.1, 0.2, 0.3, 0.3, 0.9, 0.05, 0.3]]])
several = [np.concatenate([boxes, boxes[:, ::-1]]), np.concatenate([scores, scores])]
case("NonMaxSuppression", 11, several + [Stored(ints(3)), Stored(np.float32([0.5])), Stored(np.float32([0.25]))], written=False)
case("NonMaxSuppression", 11, several + [ints(10), np.float32([0.0]), np.float32([0.0])], written=False)
case("NonMaxSuppression", 11, [boxes, scores, Stored(ints(2)), Stored(np.float32([0.5]))], written=False)
case("NonMaxSuppression", 10, [boxes, scores, Stored(ints(2)), Stored(np.float32([0.5])), Stored(np.float32([2.0]))],
     written=False)
case("NonMaxSuppression", 11, [np.float32([[[5, 5, 10, 10], [5, 6, 10, 10], [50, 50, 4, 4], [50, 50, 0, 4]]]),
                               np.float32([[[0.5, 0.9, 0.1, 0.95]]]), Stored(ints(4)), Stored(np.float32([0.4]))],
     center_point_box=1, written=False)
case("NonZero", 13, [np.float32([[0, 1, -0.0], [2, 0, 3]])], written=False)
case("NonZero", 13, [np.array([[[True], [False]], [[True], [True]]])], written=False)
case("NonZero", 13, [ints(0, 0, 0)], written=False)
for largest in (0, 1):
    case("TopK", 11, [x(3, 7), Stored(ints(3))], 2, largest=largest)
    case("TopK", 11, [np.float32([[1, 3, 3, 0], [2, 2, 2, 5]]), Stored(ints(2))], 2, axis=0, largest=largest)
    case("TopK", 11, [ints(4, 9, 9, -2, 0), Stored(ints(5))], 2, largest=largest)
case("TopK", 11, [x(3, 7), ints(2)], 2, written=False)
case("TopK", 1, [x(3, 7)], 2, k=4, axis=1)
case("Compress", 11, [x(3, 4), np.array([True, False, True])], axis=0, written=False)
case("Compress", 11, [x(3, 4), np.array([False, True, True, False, True])], written=False)
regions = np.float32([[0.5, 0.5, 6, 7], [2, 1, 3.5, 2], [-3, -3, 12, 12], [4, 4, 4, 4]])
for mode in ("avg", "max"):
    for ratio in (0, 2):
        case("RoiAlign", 16, [x(2, 3, 8, 9), regions, ints(0, 1, 1, 0)], mode=mode, sampling_ratio=ratio, output_height=3,
             output_width=2, spatial_scale=0.75)
        case("RoiAlign", 10, [x(2, 3, 8, 9), regions, ints(0, 1, 1, 0)], mode=mode, sampling_ratio=ratio, output_height=2,
             output_width=3)
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (0, 1):
            case("GridSample", 20, [x(1, 2, 4, 5), x(1, 3, 4, 2)], mode=mode, padding_mode=padding, align_corners=align)
case("GridSample", 20, [x(1, 2, 3, 4, 5), x(1, 2, 3, 2, 3)], mode="linear", padding_mode="border")
case("GridSample", 16, [x(1, 2, 4, 5), x(1, 3, 4, 2)], mode="bicubic")

# Fused operators of ONNX Runtime.
fused = {"domain": "com.microsoft"}
for op in ("Gelu", "FastGelu", "QuickGelu"):
    case(op, 17, [x(2, 5)], **fused)
case("BiasGelu", 17, [x(2, 5), Stored(x(5))], **fused)
case("FastGelu", 17, [x(2, 5), Stored(x(5))], **fused)
case("FusedMatMul", 17, [x(2, 4, 3), x(2, 5, 4)], transA=1, transB=1, alpha=0.5, **fused)
case("FusedConv", 17, [x(1, 2, 5, 5), Stored(x(3, 2, 3, 3)), Stored(x(3))], activation="Relu", pads=[1, 1, 1, 1], **fused)
case("FusedConv", 17, [x(1, 2, 5, 5), Stored(x(3, 2, 3, 3))], activation="LeakyRelu", activation_params=[0.2], **fused)
case("SkipLayerNormalization", 17, [x(2, 3, 4), x(2, 3, 4), Stored(x(4)), Stored(x(4)), Stored(x(4))], **fused)
case("SkipLayerNormalization", 17, [x(2, 3, 4), x(2, 3, 4), Stored(x(4))], **fused)
case("SkipSimplifiedLayerNormalization", 17, [x(2, 3, 4), x(2, 3, 4), Stored(x(4)), Stored(x(4))], epsilon=1e-3, **fused)
case("SimplifiedLayerNormalization", 17, [x(2, 3, 4), Stored(x(4))], epsilon=1e-3)
ids = np.int32([[1, 4, 0], [2, 2, 5]])
tables = [Stored(x(6, 8)), Stored(x(4, 8)), Stored(x(2, 8)), Stored(x(8)), Stored(x(8))]
case("EmbedLayerNormalization", 17, [ids, np.int32([[0, 1, 1], [0, 0, 1]])] + tables + [np.int32([[1, 1, 0], [1, 1, 1]])], 2, **fused)
packed = [x(2, 3, 8), Stored(x(8, 24)), Stored(x(24))]
case("Attention", 17, packed, num_heads=2, **fused)
case("Attention", 17, packed + [np.int32([[1, 1, 0], [1, 1, 1]])], num_heads=2, **fused)
case("Attention", 17, packed + [np.int32([2, 3])], num_heads=2, **fused)
case("Attention", 17, packed, num_heads=4, unidirectional=1, scale=0.4, **fused)
case("Attention", 17, packed + [None, x(2, 2, 2, 5, 4)], 2, num_heads=2, unidirectional=1, **fused)

if __name__ == "__main__":
    base.main("onnx_detection.json")

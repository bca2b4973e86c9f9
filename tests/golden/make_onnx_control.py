"""Writes onnx_control.json: graphs of one If, Loop or Scan each, as make_onnx_operators.py does."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import make_onnx_operators as base
from make_onnx_operators import Stored, case, ints, x

base.CASES.clear()
base.RANDOM.seed(23)

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def graph(nodes, inputs, outputs, **stored):
    """Nodes are "y = Op(a, b)"; inputs and outputs are names with a type."""
    made = []
    for text in nodes:
        left, right = text.split(" = ")
        op, reads = right.rstrip(")").split("(")
        made.append(helper.make_node(op, [n for n in reads.split(", ") if n], left.split(", ")))

    def values(pairs):
        return [helper.make_tensor_value_info(n, type, [] if n in ("i", "c") else None) for n, type in pairs]

    return helper.make_graph(made, "inner", values(inputs), values(outputs),
                             [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()])


def true(value=True):
    return np.array(value)


# If: known, decided by the data, with branches of unequal shapes, with several outputs, inside each other.
yes = graph(["r = Relu(x1)"], [], [("r", FLOAT)])
no = graph(["n = Neg(x1)", "m = Mul(n, two)"], [], [("m", FLOAT)], two=np.float32(2))
for value in (True, False):
    case("If", 16, [Stored(true(value)), x(2, 3)], reads=1, then_branch=yes, else_branch=no)
    case("If", 16, [true(value), x(2, 3)], reads=1, then_branch=yes, else_branch=no)
    case("If", 16, [Stored(true(value)), x(2, 3)], reads=1, then_branch=yes,
         else_branch=graph(["m = Transpose(x1)"], [], [("m", FLOAT)]))
    pair = graph(["a = Add(x1, x2)", "b = Identity(x3)"], [], [("a", FLOAT), ("b", INT)])
    other = graph(["c = Sub(x1, x2)", "d = Neg(x3)"], [], [("c", FLOAT), ("d", INT)])
    case("If", 16, [true(value), x(2, 3), Stored(x(3)), ints(4, 5)], 2, reads=1, then_branch=pair, else_branch=other)
inner = helper.make_node("If", ["x2"], ["r"], then_branch=graph(["u = Exp(x1)"], [], [("u", FLOAT)]),
                         else_branch=graph(["v = Tanh(x1)"], [], [("v", FLOAT)]))
outer = helper.make_graph([inner], "inner", [], [helper.make_tensor_value_info("r", FLOAT, None)])
case("If", 16, [true(), x(4), true(False)], reads=1, then_branch=outer, else_branch=no)

# Loop: a known number of trips, an end that the trip number or the data decide, values and rows, no trip at all.
IN = [("i", INT), ("c", BOOL), ("v", FLOAT)]
add = graph(["k = Identity(c)", "f = Cast(i)", "s = Mul(v, x3)", "w = Add(s, f)", "row = Neg(w)"], IN,
            [("k", BOOL), ("w", FLOAT), ("row", FLOAT)])
add.node[1].attribute.append(helper.make_attribute("to", FLOAT))
for trips in (1, 4):
    case("Loop", 16, [Stored(ints(trips)), Stored(true()), x(2, 3), Stored(x(3))], 2, reads=3, body=add)
case("Loop", 16, [Stored(np.int64(3)), None, x(2), Stored(x(1))], 2, reads=3, body=add)
keep = graph(["k = Less(i, last)", "w = Mul(v, v)"], IN, [("k", BOOL), ("w", FLOAT)], last=np.int64(2))
case("Loop", 16, [None, Stored(true()), x(3)], body=keep)
case("Loop", 16, [Stored(ints(0)), Stored(true()), x(3)], body=keep)
case("Loop", 16, [Stored(ints(5)), Stored(true(False)), x(3)], body=keep)
small = graph(["w = Add(v, x3)", "t = ReduceSum(w)", "q = Squeeze(t)", "k = Less(q, x4)", "row = Mul(w, w)"], IN,
              [("k", BOOL), ("w", FLOAT), ("row", FLOAT)])
small.node[1].attribute.append(helper.make_attribute("keepdims", 0))
for limit in (-100.0, 3.0, 100.0):
    case("Loop", 16, [Stored(ints(6)), Stored(true()), np.float32([0, 0.5]), np.float32([1, 0.25]), np.float32(limit)], 2,
         reads=3, body=small, written=False)
    case("Loop", 16, [Stored(ints(6)), true(), np.float32([0, 0.5]), np.float32([1, 0.25]), np.float32(limit)], 2,
         reads=3, body=small, written=False)
case("Loop", 16, [Stored(ints(6)), true(False), np.float32([0, 0.5])], body=keep)

# Scan: running sums, both directions, other axes, a recurrent layer.
total = graph(["w = Add(s, v)", "row = Identity(w)"], [("s", FLOAT), ("v", FLOAT)], [("w", FLOAT), ("row", FLOAT)])
case("Scan", 16, [x(2), x(4, 2)], 2, body=total, num_scan_inputs=1)
case("Scan", 16, [x(2), x(4, 2)], 2, body=total, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1])
case("Scan", 16, [x(2), x(2, 3)], 2, body=total, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1])
pairs = graph(["row = Mul(a, b)"], [("a", FLOAT), ("b", FLOAT)], [("row", FLOAT)])
case("Scan", 16, [x(3, 2), x(2, 3)], body=pairs, num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[0, 1])
cell = graph(["u = MatMul(h, x2)", "a = Add(u, v)", "w = Tanh(a)", "row = Identity(w)"], [("h", FLOAT), ("v", FLOAT)],
             [("w", FLOAT), ("row", FLOAT)])
case("Scan", 16, [x(2, 3), x(4, 2, 3), Stored(x(3, 3))], 2, reads=2, body=cell, num_scan_inputs=1)

if __name__ == "__main__":
    base.main("onnx_control.json")

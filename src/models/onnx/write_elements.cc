// Functions of elements, comparisons, reductions.
#include <map>

#include "models/onnx/write_node.h"
#include "ops/operator.h"
#include "ops/reduce/reduce.h"

namespace headroom::onnx {
namespace {

// An operator that ONNX has, too: same inputs, same attributes. Defaults are spelt out.
void same(NodeWriter& n) {
  const OpSchema& schema = schema_of(n.node().op);
  Attrs attributes;
  for (const AttributeSpec& a : schema.attributes) {
    if (a.words.empty())
      attributes.set(a.name, n.attrs().real(a.name, a.fallback));
    else
      attributes.set(a.name, n.attrs().text(a.name, a.words[0]));
  }
  n.result(schema.onnx, n.all_inputs(), attributes);
}

void clip(NodeWriter& n) {
  Names in = {n.input(0)};
  if (n.attrs().has("min") || n.attrs().has("max"))
    in.push_back(n.attrs().has("min") ? n.real(n.attrs().real("min"), 0) : "");
  if (n.attrs().has("max")) in.push_back(n.real(n.attrs().real("max"), 0));
  n.result("Clip", in);
}

// x <= threshold ? value : x.
void threshold(NodeWriter& n) {
  const std::string below = n.part("LessOrEqual", {n.input(0), n.real(n.attrs().real("threshold"), 0)});
  n.result("Where", {below, n.real(n.attrs().real("value"), 0), n.input(0)});
}

void mod(NodeWriter& n) { n.result("Mod", n.all_inputs(), {{"fmod", n.attrs().integer("fmod")}}); }

// Truth values may be bytes here; in ONNX they have their own type.
std::string truth(NodeWriter& n, std::size_t i) {
  if (n.type(i).dtype == DType::boolean) return n.input(i);
  return n.part("Cast", {n.input(i)}, {{"to", std::int64_t{onnx_type(DType::boolean)}}});
}

void logical(NodeWriter& n) {
  Names in;
  for (std::size_t i = 0; i < n.inputs(); ++i) in.push_back(truth(n, i));
  const std::string& op = n.node().op;
  n.result(op == "logical_and" ? "And" : op == "logical_or" ? "Or" : op == "logical_xor" ? "Xor" : "Not", in);
}

void where(NodeWriter& n) { n.result("Where", {truth(n, 0), n.input(1), n.input(2)}); }

void cast(NodeWriter& n) {
  const DType to = n.problem().outputs[0].dtype;
  const double scale = n.attrs().real("scale", 1);
  const std::string x = scale == 1 ? n.input(0) : n.part("Mul", {n.input(0), n.real(scale, 0)});
  const auto cast_to = [](DType dtype) { return Attrs{{"to", std::int64_t{onnx_type(dtype)}}}; };
  if (const std::optional<DType> through = parse_dtype(n.attrs().text("through")))
    return n.result("Cast", {n.part("Cast", {x}, cast_to(*through))}, cast_to(to));
  n.result("Cast", {x}, cast_to(to));
}

// Axes were an attribute, then an input; the sum changed before the others.
void reduce(NodeWriter& n) {
  static const std::map<std::string_view, std::string_view> names = {
      {"reduce_sum", "ReduceSum"}, {"reduce_mean", "ReduceMean"}, {"reduce_max", "ReduceMax"}};
  const std::string_view op = names.at(n.node().op);
  const ReduceProblem r = reduce_problem(n.problem());
  Attrs attributes{{"keepdims", n.attrs().integer("keepdims", 1)}};
  if (op == "ReduceSum" || n.opset() >= 18) return n.result(op, {n.input(0), n.integers(r.axes)}, attributes);
  attributes.set("axes", r.axes);
  n.result(op, {n.input(0)}, attributes);
}

void arg(NodeWriter& n) {
  n.result(n.node().op == "arg_max" ? "ArgMax" : "ArgMin", {n.input(0)},
           {{"axis", n.attrs().integer("axis")},
            {"keepdims", n.attrs().integer("keepdims", 1)},
            {"select_last_index", n.attrs().integer("select_last_index")}});
}

void bits(NodeWriter& n) {
  const std::string& op = n.node().op;
  n.result(op == "bit_and" ? "BitwiseAnd" : op == "bit_or" ? "BitwiseOr" : "BitwiseXor", n.all_inputs());
}

void cumsum(NodeWriter& n) {
  n.result("CumSum", {n.input(0), n.integer(n.attrs().integer("axis"))},
           {{"exclusive", n.attrs().integer("exclusive")}, {"reverse", n.attrs().integer("reverse")}});
}

}  // namespace

std::vector<Writing> element_writings() {
  std::vector<Writing> list = {{"clip", clip},           {"threshold", threshold}, {"mod", mod},
                               {"logical_and", logical}, {"logical_or", logical},  {"logical_xor", logical},
                               {"logical_not", logical}, {"where", where},         {"cast", cast},
                               {"reduce_sum", reduce},   {"reduce_mean", reduce},  {"reduce_max", reduce},
                               {"arg_max", arg},         {"arg_min", arg},         {"cumsum", cumsum},
                               {"bit_and", bits},        {"bit_or", bits},         {"bit_xor", bits}};
  for (const Operator& op : operators())
    if (!op.schema.onnx.empty()) list.push_back({op.schema.name, same});
  return list;
}

}  // namespace headroom::onnx

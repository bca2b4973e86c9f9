// The fused operators that ONNX Runtime writes into optimised files, of the domain com.microsoft: each is
// made of the operators that it fuses.

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

Term gelu_of(Context& c, const Term& x, bool tanh) {
  need_float(c, x);
  return apply(c, "gelu", {x}, {{"approximate", std::string(tanh ? "tanh" : "none")}});
}

// With a bias as its second input, if there is one.
Results fused_gelu(Context& c, bool tanh) {
  c.require_inputs(1, 2);
  const Term x = c.has_input(1) ? apply(c, "add", {input(c, 0), input(c, 1)}) : input(c, 0);
  return {gelu_of(c, x, tanh)};
}

Results quick_gelu(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const Term gate = apply(c, "sigmoid", {apply(c, "mul", {x, number(c, c.real("alpha", 1.702))})});
  return {apply(c, "mul", {x, gate})};
}

Results fused_matmul(Context& c) {
  c.require_inputs(2, 2);
  need_float(c, input(c, 0));
  if (c.integer("transBatchA", 0) != 0 || c.integer("transBatchB", 0) != 0)
    c.unsupported("transposed batches");
  const Term y = apply(c, "matmul", {input(c, 0), input(c, 1)},
                       {{"trans_a", c.integer("transA", 0)}, {"trans_b", c.integer("transB", 0)}});
  const double alpha = c.real("alpha", 1);
  return {alpha == 1 ? y : apply(c, "mul", {y, number(c, alpha)})};
}

// The function that a convolution or a product applies to its results.
Term activated(Context& c, const Term& x, const std::vector<double>& numbers) {
  const std::string name = c.text("activation", "");
  const auto at = [&](std::size_t i, double fallback) { return i < numbers.size() ? numbers[i] : fallback; };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid")
    return apply(c, name == "Relu" ? "relu" : name == "Tanh" ? "tanh" : "sigmoid", {x});
  if (name == "LeakyRelu") return apply(c, "leaky_relu", {x}, {{"alpha", at(0, 0.01)}});
  if (name == "Clip") {
    Attrs attrs;
    if (!numbers.empty()) attrs.set("min", at(0, 0));
    if (numbers.size() > 1) attrs.set("max", at(1, 0));
    return apply(c, "clip", {x}, attrs);
  }
  if (name == "HardSigmoid")
    return apply(c, "hard_sigmoid", {x}, {{"alpha", at(0, 0.2)}, {"beta", at(1, 0.5)}});
  c.unsupported(fmt::format("activation '{}'", name));
}

Term term_of(const Operand& operand) {
  Term term;
  static_cast<Operand&>(term) = operand;
  return term;
}

Results fused_conv(Context& c) {
  if (c.has_input(3)) c.unsupported("a sum before its activation");
  const Term y = term_of(find_conversion("", "Conv")->convert(c).at(0));
  return {activated(c, y, c.reals("activation_params", {}))};
}

Results fused_gemm(Context& c) {
  const Term y = term_of(find_conversion("", "Gemm")->convert(c).at(0));
  std::vector<double> numbers;
  if (c.has("activation_alpha")) numbers.push_back(c.real("activation_alpha"));
  if (c.has("activation_beta")) numbers.push_back(c.real("activation_beta"));
  return {activated(c, y, numbers)};
}

// Over the last axis. An absent offset is 0.
Term last_layer_norm(Context& c, const Term& x, std::size_t gamma, std::size_t beta) {
  const Shape s = shape_of(c, x);
  const std::int64_t axis = s.rank() - 1, width = s[s.rank() - 1];
  const Term offset =
      c.has_input(beta) ? input(c, beta) : Term(repeated_constant({width}, master_of(c.dtype()), 0));
  return apply(c, "layer_norm", {x, input(c, gamma), offset},
               {{"axis", axis}, {"epsilon", c.real("epsilon", 1e-12)}});
}

Term last_rms_norm(Context& c, const Term& x, std::size_t gamma, double epsilon) {
  const std::int64_t last = shape_of(c, x).rank() - 1;
  const Term squares = apply(c, "reduce_mean", {apply(c, "mul", {x, x})},
                             {{"axes", Ints{last}}, {"keepdims", std::int64_t{1}}});
  const Term root = apply(c, "sqrt", {apply(c, "add", {squares, number(c, epsilon)})});
  return apply(c, "mul", {apply(c, "div", {x, root}), input(c, gamma)});
}

// input + skip, and a bias if there is one. The sum is the fourth result.
Results skip_norm(Context& c, bool simplified) {
  c.require_inputs(3, 5);
  need_float(c, input(c, 0));
  if (c.wants_output(1) || c.wants_output(2)) c.unsupported("outputs of statistics");
  Term sum = apply(c, "add", {input(c, 0), input(c, 1)});
  if (const std::size_t bias = simplified ? 3 : 4; c.has_input(bias))
    sum = apply(c, "add", {sum, input(c, bias)});
  const Term y =
      simplified ? last_rms_norm(c, sum, 2, c.real("epsilon", 1e-12)) : last_layer_norm(c, sum, 2, 3);
  return {y, {}, {}, sum};
}

Results simplified_norm(Context& c) {
  c.require_inputs(2, 2);
  need_float(c, input(c, 0));
  const int rank = c.shape(0).rank();
  if (axis_in(c, c.integer("axis", -1), rank) != rank - 1) c.unsupported("more than the last axis");
  if (c.wants_output(1)) c.unsupported("outputs of statistics");
  return {last_rms_norm(c, input(c, 0), 1, c.real("epsilon", 1e-5))};
}

// Words, positions and segments by their numbers, summed and normalised; also the lengths of the rows of a
// mask.
Results embed_norm(Context& c) {
  c.require_inputs(7, 9);
  const Shape ids = c.shape(0);
  if (ids.rank() != 2) c.invalid(fmt::format("ids of {}", ids.str()));
  const auto rows = [&](std::size_t table, const Term& numbers) {
    return apply(c, "gather", {input(c, table), numbers}, {{"axis", std::int64_t{0}}});
  };
  const Term places = c.has_input(8) ? input(c, 8) : positions(ids[1], 1, 2);
  Term sum = apply(c, "add", {rows(2, input(c, 0)), rows(3, places)});
  if (c.has_input(1) && c.has_input(4)) sum = apply(c, "add", {sum, rows(4, input(c, 1))});
  const Attrs along{{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}};
  const Term lengths = c.has_input(7) ? apply(c, "reduce_sum", {cast_to(c, input(c, 7), DType::i32)}, along)
                                      : Term(repeated_constant({ids[0]}, DType::i32, 0));
  return {last_layer_norm(c, sum, 5, 6), lengths, sum};
}

}  // namespace

std::vector<Conversion> microsoft_conversions() {
  return {{"com.microsoft:Gelu", [](Context& c) { return fused_gelu(c, false); }},
          {"com.microsoft:BiasGelu", [](Context& c) { return fused_gelu(c, false); }},
          {"com.microsoft:FastGelu", [](Context& c) { return fused_gelu(c, true); }},
          {"com.microsoft:QuickGelu", quick_gelu},
          {"com.microsoft:FusedMatMul", fused_matmul},
          {"com.microsoft:TransposeMatMul", fused_matmul},
          {"com.microsoft:FusedConv", fused_conv},
          {"com.microsoft:FusedGemm", fused_gemm},
          {"com.microsoft:SkipLayerNormalization", [](Context& c) { return skip_norm(c, false); }},
          {"com.microsoft:SkipSimplifiedLayerNormalization", [](Context& c) { return skip_norm(c, true); }},
          {"com.microsoft:EmbedLayerNormalization", embed_norm},
          {"SimplifiedLayerNormalization", simplified_norm}};
}

}  // namespace headroom::onnx

#pragma once

// The graph of tests/golden/operators.py, node for node: a picture through the operators of convolutional
// networks, a sentence through the operators of attention, one loss for both.

#include <map>
#include <string>
#include <vector>

#include "golden.h"
#include "graph/autodiff.h"
#include "graph/graph.h"

namespace headroom::testing {

class OperatorsGraph {
 public:
  explicit OperatorsGraph(const Json& golden) {
    for (const auto& [name, leaf] : golden.at("leaves").items()) {
      const bool statistic = name.ends_with("_mean") || name.ends_with("_var") ||
                             name.starts_with("fixed.m") || name.starts_with("fixed.v");
      const Role role = name == "x" ? Role::input : statistic ? Role::state : Role::parameter;
      values[name] = leaf_value(name, {Shape(leaf.at("shape").get<Ints>()), DType::f64}, role);
      if (!statistic) learned.push_back(values[name]);
    }
    tokens = leaf_value("tokens", {{2, 5}, DType::i32}, Role::input);
    mask = leaf_value("mask", {{5, 5}, DType::i32}, Role::input);
    step = leaf_value("step", {{1}, DType::f64}, Role::scalar);
    build();
    for (const auto& [value, gradient] : differentiate(graph, loss, learned)) gradients[value] = gradient;
  }

  Graph graph;
  std::map<std::string, ValueId> values;  // leaves, and values with a digest in the file
  std::map<ValueId, ValueId> gradients;
  std::vector<ValueId> learned;
  ValueId tokens = kNone, mask = kNone, step = kNone, loss = kNone;

 private:
  using Ints = std::vector<std::int64_t>;

  ValueId leaf_value(const std::string& name, TensorType type, Role role, double first = 0) {
    return graph.add_value({.name = name,
                            .type = type,
                            .role = role,
                            .producer = kNone,
                            .init = {Initializer::Kind::constant, first},
                            .layer = {}});
  }
  ValueId node(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return graph.add_node(op, std::move(inputs), std::move(attrs), std::string(op)).at(0);
  }
  ValueId keep(const std::string& name, ValueId value) { return values[name] = value; }
  ValueId leaf(const std::string& name) const { return values.at(name); }
  ValueId constant(const std::string& name, double value) {
    return leaf_value(name, {{1}, DType::f64}, Role::constant, value);
  }

  ValueId picture() {
    ValueId a = keep("conv", node("conv2d", {leaf("x"), leaf("conv.weight"), leaf("conv.bias")},
                                  {{"pads", Ints{1, 1, 1, 1}}}));
    a = node("leaky_relu", {a}, {{"alpha", 0.1}});
    a = keep("bn", node("batch_norm", {a, leaf("bn.weight"), leaf("bn.bias"), leaf("bn.running_mean"),
                                       leaf("bn.running_var")}));
    a = keep("lrn", node("lrn", {a}, {{"size", std::int64_t{3}}, {"alpha", 0.3}, {"bias", 2.0}}));
    a = node("pad", {a}, {{"pads", Ints{0, 0, 1, 2, 0, 0, 2, 1}}, {"mode", std::string("reflect")}});
    a = node("pad", {a}, {{"pads", Ints{0, 0, 1, 0, 0, 0, 0, 2}}, {"mode", std::string("edge")}});
    a = keep("pad", node("pad", {a}, {{"pads", Ints{0, 0, 0, 1, 0, 0, 1, -1}}, {"value", 0.5}}));
    a = keep("fixed",
             node("batch_norm_inference",
                  {a, leaf("fixed.weight"), leaf("fixed.bias"), leaf("fixed.mean"), leaf("fixed.var")},
                  {{"epsilon", 1e-3}}));
    a = keep("slice", node("slice", {a},
                           {{"starts", Ints{1, -2}},
                            {"ends", Ints{12, -100}},
                            {"axes", Ints{2, 3}},
                            {"steps", Ints{2, -3}}}));
    const auto parts =
        graph.add_node("split", {a}, {{"axis", std::int64_t{1}}, {"sizes", Ints{3, 3, 2}}}, "split");
    const ValueId c = node("elu", {parts[0]}, {{"alpha", 0.7}}), d = node("gelu", {parts[1]}),
                  e = node("gelu", {parts[2]}, {{"approximate", std::string("tanh")}});
    a = keep("concat", node("concat", {e, c, d}, {{"axis", std::int64_t{1}}}));
    a = keep("clip", node("clip", {node("hard_swish", {a})}, {{"min", -0.3}, {"max", 1.2}}));
    a = keep("bilinear", node("resize", {a}, {{"sizes", Ints{9, 8}}, {"mode", std::string("bilinear")}}));
    a = keep("nearest", node("resize", {a},
                             {{"sizes", Ints{5, 7}},
                              {"mode", std::string("nearest")},
                              {"coordinates", std::string("asymmetric")},
                              {"nearest_mode", std::string("floor")}}));
    std::vector<ValueId> pooled = {node("adaptive_avg_pool", {a}, {{"output", Ints{3, 2}}}),
                                   node("adaptive_max_pool", {a}, {{"output", Ints{2, 3}}}),
                                   node("global_avg_pool", {a}), node("global_max_pool", {a})};
    for (ValueId& p : pooled) p = node("flatten", {p});
    return keep("pooled", node("concat", pooled, {{"axis", std::int64_t{1}}}));
  }

  ValueId sentence() {
    const ValueId t =
        node("layer_norm", {node("gather", {leaf("table"), tokens}), leaf("ln.weight"), leaf("ln.bias")});
    const ValueId q =
        keep("heads",
             node("matmul", {node("reshape", {t}, {{"shape", Ints{2, 1, 5, 12}}}), leaf("heads.weight")}));
    ValueId r = node("matmul", {q, q}, {{"trans_b", std::int64_t{1}}});
    r = node("mul", {r, constant("half", 0.5)});
    r = node("where", {node("cast", {mask}, {{"to", std::string("bool")}}), r, leaf("masked")});
    ValueId o = node("matmul", {keep("softmax", node("softmax", {r})), q});
    o = node("reshape", {node("transpose", {o}, {{"perm", Ints{0, 2, 1, 3}}})}, {{"shape", Ints{2, 5, 12}}});
    o = node("linear", {o, leaf("mix.weight"), leaf("mix.bias")});
    o = node("cast", {o}, {{"to", std::string("fp32")}});
    o = keep("cast", node("cast", {o}, {{"to", std::string("fp64")}}));
    ValueId z = keep("pow", node("pow", {node("exp", {node("erf", {o})}), leaf("exponent")}));
    z = node("sub", {node("div", {z, leaf("divisor")}), o});
    return keep("sqrt", node("sqrt", {node("add", {node("mul", {z, z}), constant("unity", 1)})}));
  }

  void build() {
    const ValueId z = sentence();
    const Attrs over_words = {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}};
    // A rate of 0 drops nothing: the numbers are the identity's, but its nodes and gradients exist.
    const ValueId kept = node("dropout", {picture(), step}, {{"rate", 0.0}});
    const ValueId all = node("concat",
                             {kept, node("reduce_sum", {z}, over_words), node("reduce_mean", {z}, over_words),
                              node("reduce_max", {z}, over_words)},
                             {{"axis", std::int64_t{1}}});
    const ValueId logits = keep("logits", node("linear", {all, leaf("out.weight"), leaf("out.bias")}));
    const ValueId scores = keep("log_softmax", node("log_softmax", {logits}));
    const ValueId chosen = node("reduce_sum", {node("mul", {scores, leaf("target")})});
    const ValueId error = node("squared_error", {z, leaf("wanted")});
    loss = keep("loss", node("add", {error, node("reshape", {chosen}, {{"shape", Ints{1}}})}));
  }
};

}  // namespace headroom::testing

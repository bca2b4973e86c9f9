#include <algorithm>
#include <map>

#include "passes/passes.h"

namespace headroom {
namespace {

ValueId cast(Graph& graph, ValueId value, DType to, const std::string& layer, double gradient_scale) {
  Attrs attrs{{"to", std::string(name_of(to))}};
  if (gradient_scale != 1) attrs.set("gradient_scale", gradient_scale);
  return graph.add_node("cast", {value}, attrs, layer).at(0);
}

class Narrowing {
 public:
  Narrowing(const Graph& graph, DType dtype, double gradient_scale)
      : from_(graph), dtype_(dtype), scale_(gradient_scale) {
    done_.value.resize(graph.values().size(), kNone);
  }

  Graph16Bit run() && {
    // Inputs and stored values come first and keep their order: other code finds them by it.
    for (std::size_t i = 0; i < from_.values().size(); ++i)
      if (from_.values()[i].producer == kNone) done_.value[i] = done_.graph.add_value(from_.values()[i]);
    for (const Node& node : from_.nodes()) copy(node);
    for (ValueId out : from_.outputs) done_.graph.outputs.push_back(now(out));
    return std::move(done_);
  }

 private:
  ValueId now(ValueId old) const { return done_.value.at(static_cast<std::size_t>(old)); }

  // Gradients are scaled everywhere except for parameters, whose gradients leave the 16-bit part.
  double scale_of(ValueId id) const { return done_.graph.value(id).role == Role::parameter ? 1 / scale_ : 1; }

  ValueId wide(ValueId id, const std::string& layer) {
    const bool same = done_.graph.value(id).type.dtype != dtype_ && scale_of(id) == 1;
    return same ? id : remember(wide_, id, DType::f32, layer);
  }

  ValueId narrow(ValueId id, const std::string& layer) {
    return done_.graph.value(id).type.dtype != DType::f32 ? id : remember(narrow_, id, dtype_, layer);
  }

  ValueId remember(std::map<ValueId, ValueId>& copies, ValueId id, DType to, const std::string& layer) {
    const auto [it, fresh] = copies.try_emplace(id, kNone);
    if (fresh) it->second = cast(done_.graph, id, to, layer, scale_of(id));
    return it->second;
  }

  void copy(const Node& node) {
    const std::vector<int>& kept = schema_of(node.op).keeps_fp32;
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = now(node.inputs[i]);
      const bool is_kept = std::find(kept.begin(), kept.end(), int(i)) != kept.end();
      inputs.push_back(is_kept ? wide(id, node.layer) : narrow(id, node.layer));
    }
    const std::vector<ValueId> outputs =
        done_.graph.add_node(node.op, inputs, node.attrs, node.layer, node.phase);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Value like = from_.value(node.outputs[i]);
      like.type = done_.graph.value(outputs[i]).type;
      like.producer = done_.graph.value(outputs[i]).producer;
      done_.graph.value(outputs[i]) = std::move(like);
      done_.value[static_cast<std::size_t>(node.outputs[i])] = outputs[i];
    }
  }

  const Graph& from_;
  DType dtype_;
  double scale_;
  Graph16Bit done_;
  std::map<ValueId, ValueId> narrow_, wide_;  // casts made so far
};

}  // namespace

Graph16Bit to_16bit(const Graph& graph, DType dtype, double gradient_scale) {
  return Narrowing(graph, dtype, gradient_scale).run();
}

ValueId as_fp32(Graph& graph, ValueId value, const std::string& layer, double gradient_scale) {
  if (!is_16bit(graph.value(value).type.dtype)) return value;
  return cast(graph, value, DType::f32, layer, gradient_scale);
}

}  // namespace headroom

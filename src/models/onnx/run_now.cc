// Runs a small node on known elements, with the kernels that a plan would use.
#include "models/onnx/file.h"
#include "models/onnx/lower.h"
#include "models/onnx/onnx.pb.h"
#include "plan/executor.h"

namespace headroom::onnx {
std::optional<Results> Lowerer::run_now(const NodeProto& node, const Context& context) {
  const Conversion* conversion = find_conversion(node.domain(), node.op_type());
  if (conversion == nullptr) return std::nullopt;
  Graph graph;
  Lowering how = how_;
  how.training = false;
  Lowerer alone(file_, verdicts_, graph, how, sizes_);
  alone.scratch_ = true;
  alone.read_ = read_;  // which outputs are read
  std::vector<Operand> copies;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    copies.push_back(context.operand(i));
    copies.back().value = kNone;
    copies.back().origin = nullptr;
  }
  std::vector<Operand*> operands;
  for (Operand& copy : copies) operands.push_back(&copy);
  try {
    Context inside(alone, node, context.layer(), context.opset(), operands);
    Results results = conversion->convert(inside);
    std::vector<std::size_t> open;  // still to be computed
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].value == kNone) continue;
      if (results[i].counted) return std::nullopt;  // it has no elements: see counted_by
      const Value& value = graph.value(results[i].value);
      if (value.type.shape.numel() > kMaxFolded) return std::nullopt;
      open.push_back(i);
      graph.outputs.push_back(results[i].value);
    }
    if (open.empty()) return results;
    for (const Value& value : graph.values())
      if (value.type.shape.numel() > kMaxFolded) return std::nullopt;
    const auto device = open_device("cpu", 1);
    Storage storage(*device);
    Arena arena(*device);
    storage.prepare(graph, 0);
    Executor executor(plan_operators(graph, how.dtype, device->capabilities()), storage, arena);
    executor.run();
    for (std::size_t i : open) {
      const TensorType type = graph.value(results[i].value).type;
      results[i] = constant_data(type.shape, executor.read(results[i].value), type.dtype);
    }
    return results;
  } catch (const Unsupported&) {
    return std::nullopt;
  } catch (const Error&) {  // no kernel for the type, or a refused shape: the plan will say so
    return std::nullopt;
  }
}

}  // namespace headroom::onnx

#include "ops/activation/activation.h"

#include "graph/graph.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace activation_cc {
namespace {

Activation kind_of(std::string_view op) { return *parse_activation(op.substr(0, op.find("_grad"))); }

std::vector<TensorType> infer_unary(const std::vector<TensorType>& in, const Attrs&) { return {in.at(0)}; }

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs&) {
  if (in.at(0) != in.at(1)) reject("gradient {} and output {} differ", in[0].shape.str(), in[1].shape.str());
  return {in[1]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  const bool backward = p.op.ends_with("_grad");
  const bool relu = kind_of(p.op) == Activation::relu;
  (relu || backward ? c.other : c.special) = backward && !relu ? 3 * n : n;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const std::string op = c.graph.node(c.node).op + "_grad";
  return {c.emit(op, {c.output_gradients[0], c.output(0)})};
}

Launcher reference(const Problem& p, const LaunchContext&) {
  const Activation kind = kind_of(p.op);
  const bool backward = p.op.ends_with("_grad");
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kind, backward, n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T* in = a.in<T>(0);
      const T* y = backward ? a.in<T>(1) : nullptr;
      T* out = a.out<T>(0);
      for (std::int64_t i = 0; i < n; ++i)
        out[i] = backward ? in[i] * slope_from_output(kind, y[i]) : activate_scalar(kind, in[i]);
    };
  });
}

Launcher vectorized(const Problem& p, const LaunchContext&) {
  const Activation kind = kind_of(p.op);
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kind, n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      parallel_for(n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
        apply_activation(kind, end - begin, x + begin, y + begin);
      });
    };
  });
}

Launcher vectorized_grad(const Problem& p, const LaunchContext&) {
  const Activation kind = kind_of(p.op);
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kind, n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      parallel_for(n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
        apply_slope(kind, end - begin, a.in<T>(0) + begin, a.in<T>(1) + begin, a.out<T>(0) + begin);
      });
    };
  });
}

}  // namespace
}  // namespace activation_cc

std::optional<Activation> parse_activation(std::string_view name) {
  using namespace activation_cc;
  if (name.empty() || name == "none") return Activation::none;
  for (const NamedActivation& known : kActivations)
    if (known.name == name) return known.kind;
  return std::nullopt;
}

std::vector<Operator> activation_operators() {
  using namespace activation_cc;
  const std::vector<Shape> shapes = {{1}, {7}, {64, 10}, {3, 5, 7, 11}, {40000}};
  std::vector<Operator> list;
  for (const NamedActivation& activation : kActivations) {
    const std::string name(activation.name);
    std::vector<Case> forward, backward;
    for (const Shape& shape : shapes) {
      forward.push_back({.tier = Tier::ci, .inputs = {shape}});
      backward.push_back({.tier = Tier::ci, .inputs = {shape, shape}});
    }
    for (const Shape& shape : {Shape{4194304}, Shape{262144}}) {
      forward.push_back({.tier = Tier::perf, .inputs = {shape}});
      backward.push_back({.tier = Tier::perf, .inputs = {shape, shape}});
    }
    list.push_back({.schema = {.name = name,
                               .infer = infer_unary,
                               .cost = cost,
                               .gradient = gradient,
                               .elementwise = 1,
                               .layer = true,
                               .activation = true,
                               .fusible_activation = true,
                               .onnx = std::string(activation.onnx)},
                    .kernels = {{.name = "cuda:map",
                                 .device = DeviceKind::cuda,
                                 .accepts = accepts_cuda_floats,
                                 .prepare = HEADROOM_CUDA(prepare_activation_cuda),
                                 .layouts = Layouts::elementwise},
                                {.name = "cpu:vector", .prepare = vectorized},
                                {.name = "reference", .prepare = reference}},
                    .cases = forward});
    list.push_back(
        {.schema = {.name = name + "_grad", .infer = infer_grad, .cost = cost, .gradient_of = name},
         .kernels = {{.name = "cuda:map",
                      .device = DeviceKind::cuda,
                      .accepts = accepts_cuda_floats,
                      .prepare = HEADROOM_CUDA(prepare_activation_cuda),
                      .layouts = Layouts::elementwise},
                     {.name = "cpu:vector", .prepare = vectorized_grad},
                     {.name = "reference", .prepare = reference}},
         .cases = backward});
  }
  return list;
}

}  // namespace headroom

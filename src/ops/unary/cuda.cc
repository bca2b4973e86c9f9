#include "ops/unary/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/unary/unary.h"

namespace headroom {
namespace {

cuda::Function function_of(const Problem& p) {
  using F = cuda::Function;
  const std::pair<std::string_view, F> names[] = {
      {"neg", F::neg},
      {"abs", F::abs},
      {"leaky_relu", F::leaky_relu},
      {"clip", F::clip},
      {"threshold", F::threshold},
      {"hard_sigmoid", F::hard_sigmoid},
      {"hard_swish", F::hard_swish},
      {"exp", F::exp},
      {"log", F::log},
      {"sqrt", F::sqrt},
      {"erf", F::erf},
      {"elu", F::elu},
      {"floor", F::floor},
      {"ceil", F::ceil},
      {"round", F::round},
      {"sign", F::sign},
      {"sin", F::sin},
      {"cos", F::cos},
      {"softplus", F::softplus},
      {"gelu", p.attrs.text("approximate", "none") == "tanh" ? F::gelu_tanh : F::gelu}};
  const std::string_view name = std::string_view(p.op).substr(0, p.op.find("_grad"));
  for (const auto& [known, function] : names)
    if (known == name) return function;
  fail("no kernel for '{}'", p.op);
}

}  // namespace

Launcher prepare_unary_cuda(const Problem& p, const Capabilities&) {
  return [dtype = p.outputs[0].dtype, function = function_of(p), knobs = knobs_of(p.op, p.attrs),
          n = p.outputs[0].shape.numel(), backward = p.op.ends_with("_grad")](const LaunchArgs& a) {
    cuda::unary(dtype, function, knobs, n, a.inputs[0], backward ? a.inputs[1] : nullptr, a.outputs[0],
                cuda::stream_of(a));
  };
}

namespace cuda {

void unary(DType dtype, Function function, const Knobs<double>& knobs, std::int64_t n, const void* in,
           const void* v, void* out, cudaStream_t stream) {
  const auto part = function <= Function::hard_swish ? piecewise : function < Function::floor ? smooth : rare;
  part(dtype, function, knobs, n, in, v, out, stream);
}

}  // namespace cuda
}  // namespace headroom

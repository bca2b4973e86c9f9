// Element by element, each operand stretched on the way; in accesses of 16 bytes where the shapes allow.
#ifdef HEADROOM_HAS_CUDA
#include "ops/binary/cuda/stretch.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/binary/binary.h"
#include "ops/binary/integers.h"

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  using cuda::Binary;
  const Binary op = p.op == "add"             ? Binary::add
                    : p.op == "sub"           ? Binary::sub
                    : p.op == "mul"           ? Binary::mul
                    : p.op == "div"           ? Binary::div
                    : p.op == "pow"           ? Binary::pow
                    : p.op == "maximum"       ? Binary::maximum
                    : p.op == "minimum"       ? Binary::minimum
                    : p.op == "mod"           ? (p.attrs.integer("fmod") == 1 ? Binary::fmod : Binary::mod)
                    : p.op == "pow_grad_base" ? Binary::pow_grad_base
                                              : Binary::pow_grad_exponent;
  std::vector<Shape> operands;
  for (const TensorType& type : p.inputs) operands.push_back(type.shape);
  if (!is_float(p.outputs[0].dtype))
    return [op = static_cast<int>(integer_op(p)), wide = p.outputs[0].dtype == DType::i64,
            loop = cuda::loop_of(p.outputs[0].shape, operands)](const LaunchArgs& a) {
      cuda::binary_integers(wide, op, loop, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
    };
  return [op, dtype = p.outputs[0].dtype, loop = cuda::loop_of(p.outputs[0].shape, operands),
          three = operands.size() == 3](const LaunchArgs& a) {
    cuda::binary(dtype, op, loop, a.inputs[0], a.inputs[1], three ? a.inputs[2] : nullptr, a.outputs[0],
                 cuda::stream_of(a));
  };
}

}  // namespace
#endif

Kernel binary_cuda_stretch() {
  return {.name = "cuda:stretch",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .prepare = HEADROOM_CUDA(prepare),
          .layouts = Layouts::elementwise};
}

}  // namespace headroom

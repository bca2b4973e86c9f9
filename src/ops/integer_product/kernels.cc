// The kernels of both operators, in order. Each is defined in the file of its name.
#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace integer_product_kernels_cc {
namespace {

// __dp4a does four products and sums in the time of one multiply-add of fp32.
Work work_dots(const Problem& problem, const Target& target) {
  const MatmulProblem p = folded_matmul_integer(problem);
  Work work = least_work(problem, target);
  work.with("gpu.int8_dots", Unit::fp32, {p.m, p.n, p.k});
  work.main().flops /= 4;
  work.main().executed = 0;  // integer operations do not count as FLOPs
  work.main().count = static_cast<int>(p.count());
  return work;
}

Work work_direct(const Problem& problem, const Target& target) {
  const Conv2d c = parse_conv2d(problem);
  Work work = least_work(problem, target);
  work.with("gpu.int8_direct", Unit::fp32, {c.maps, c.batch * c.output_plane(), c.depth()});
  work.main().executed = 0;  // as above
  return work;
}

Verdict accepts_dots(const Problem&, const Target& target) {
  if (target.device.compute_capability < 61)
    return refuse("dot products of bytes need compute capability 6.1");
  return accept();
}

Kernel matmul_integer_cuda_dots() {
  return {.name = "cuda:dots",
          .device = DeviceKind::cuda,
          .accepts = accepts_dots,
          .work = work_dots,
          .prepare = HEADROOM_CUDA(prepare_matmul_integer_cuda)};
}

Kernel conv2d_integer_cuda_direct() {
  return {.name = "cuda:direct",
          .device = DeviceKind::cuda,
          .accepts = accepts_cuda_floats,
          .work = work_direct,
          .prepare = HEADROOM_CUDA(prepare_conv2d_integer_cuda)};
}

}  // namespace
}  // namespace integer_product_kernels_cc

std::vector<Operator> integer_product_operators() {
  using namespace integer_product_kernels_cc;
  return {{.schema = matmul_integer_schema(),
           .kernels = {matmul_integer_cuda_tiles(), matmul_integer_cuda_dots(), matmul_integer_cpu_dots(),
                       integer_product_reference()},
           .cases = matmul_integer_cases(),
           .exact = true},
          {.schema = conv2d_integer_schema(),
           .kernels = {conv2d_integer_cuda_direct(), conv2d_integer_cpu_dots(), integer_product_reference()},
           .cases = conv2d_integer_cases(),
           .exact = true}};
}

}  // namespace headroom

// Dot products of bytes, by the instructions the processor has (ops/cpu/int8_gemm.h). A convolution unrolls
// each image first; threads take whole images, or share the product of a single one.
#include "ops/conv2d/cpu/unroll.h"
#include "ops/cpu/int8_gemm.h"
#include "ops/cpu/parallel.h"
#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace integer_product_cpu_dots_cc {
namespace {

using Byte = std::uint8_t;

ByteFactor factor(const Problem& p, std::size_t i, std::int64_t ld) {
  return {
      .is_signed = p.inputs[i].dtype == DType::i8, .ld = ld, .zero_each = p.inputs[i + 2].shape.numel() > 1};
}

Work work_matmul(const Problem& problem, const Target& target) {
  const MatmulProblem p = folded_matmul_integer(problem);
  Work work = least_work(problem, target);
  work.with("cpu.int8_dots", Unit::int8, {p.m, p.n, p.k});
  work.add_bytes(2 * double(p.count()) * double(p.m + p.n) * double(p.k));  // both factors are packed
  return work;
}

std::size_t workspace_matmul(const Problem& problem, const Target& target) {
  const MatmulProblem p = folded_matmul_integer(problem);
  return int8_gemm_scratch(p.m, p.k, target.device.threads);
}

Launcher prepare_matmul(const Problem& problem, const LaunchContext&) {
  const MatmulProblem p = folded_matmul_integer(problem);
  const ByteFactor a = factor(problem, 0, p.k), b = factor(problem, 1, p.n);
  return [p, a, b](const LaunchArgs& args) {
    for (std::int64_t i = 0; i < p.count(); ++i) {
      ByteFactor left = a, right = b;
      left.data = args.in<Byte>(0) + p.a[static_cast<std::size_t>(i)], left.zeros = args.in<Byte>(2);
      right.data = args.in<Byte>(1) + p.b[static_cast<std::size_t>(i)], right.zeros = args.in<Byte>(3);
      int8_gemm(p.m, p.n, p.k, left, right, args.out<std::int32_t>(0) + i * p.m * p.n, p.n, args.workspace);
    }
  };
}

// Scratch memory of one thread: an unrolled image, and what the product needs.
struct ConvScratch {
  std::size_t matrix, product;

  ConvScratch(const Conv2d& c, int threads)
      : matrix(c.is_pointwise() ? 0 : static_cast<std::size_t>(c.depth() * c.output_plane())),
        product(int8_gemm_scratch(c.group_maps(), c.depth(), c.batch > 1 ? 1 : threads)) {}
  std::size_t bytes() const { return matrix + product; }
};

std::size_t workspace_conv(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  const int threads = target.device.threads;
  return ConvScratch(c, threads).bytes() * static_cast<std::size_t>(c.batch > 1 ? threads : 1);
}

Work work_conv(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, target);
  work.with("cpu.int8_dots", Unit::int8, {c.group_maps(), c.output_plane(), c.depth()});
  // The unrolled matrix is written, read, packed and read again.
  const double unrolled = double(c.batch) * double(c.groups) * double(c.depth()) * double(c.output_plane());
  work.add_bytes((c.is_pointwise() ? 2 : 4) * unrolled);
  if (c.batch > 1) work.main().blocks = c.batch;
  return work;
}

Launcher prepare_conv(const Problem& p, const LaunchContext& context) {
  const Conv2d conv = parse_conv2d(p);
  const ConvScratch parts(conv, context.target.device.threads);
  const ByteFactor weights = factor(p, 1, conv.depth()), image = factor(p, 0, conv.output_plane());
  return [c = conv, parts, weights, image](const LaunchArgs& args) {
    const auto one_image = [&](std::int64_t n, std::byte* scratch) {
      for (std::int64_t group = 0; group < c.groups; ++group) {
        const std::int64_t i = n * c.groups + group;
        const Byte* x = args.in<Byte>(0) + i * c.group_channels() * c.input_plane();
        auto* matrix = reinterpret_cast<Byte*>(scratch + parts.product);
        if (!c.is_pointwise()) unroll(c, x, matrix, *args.in<Byte>(2));
        ByteFactor w = weights, columns = image;
        w.data = args.in<Byte>(1) + group * c.group_maps() * c.depth();
        w.zeros = args.in<Byte>(3) + (w.zero_each ? group * c.group_maps() : 0);
        columns.data = c.is_pointwise() ? x : matrix, columns.zeros = args.in<Byte>(2);
        int8_gemm(c.group_maps(), c.output_plane(), c.depth(), w, columns,
                  args.out<std::int32_t>(0) + i * c.group_maps() * c.output_plane(), c.output_plane(),
                  scratch);
      }
    };
    auto* scratch = static_cast<std::byte*>(args.workspace);
    if (c.batch == 1) return one_image(0, scratch);
    parallel_for(c.batch, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t n = begin; n < end; ++n)
        one_image(n, scratch + static_cast<std::size_t>(thread) * parts.bytes());
    });
  };
}

}  // namespace
}  // namespace integer_product_cpu_dots_cc

Kernel matmul_integer_cpu_dots() {
  using namespace integer_product_cpu_dots_cc;
  return {.name = "cpu:dots", .work = work_matmul, .prepare = prepare_matmul, .workspace = workspace_matmul};
}
Kernel conv2d_integer_cpu_dots() {
  using namespace integer_product_cpu_dots_cc;
  return {.name = "cpu:dots", .work = work_conv, .prepare = prepare_conv, .workspace = workspace_conv};
}

}  // namespace headroom

#include "ops/integer_product/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace {

cuda::Bytes bytes_of(const Problem& p, std::size_t i) {
  return {nullptr, nullptr, p.inputs[i].dtype == DType::i8, p.inputs[i + 2].shape.numel() > 1};
}

cuda::Bytes at(cuda::Bytes bytes, const LaunchArgs& a, std::size_t i, std::int64_t offset = 0) {
  bytes.data = a.in<std::uint8_t>(i) + offset;
  bytes.zeros = a.inputs[i + 2];
  return bytes;
}

using OneProduct = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, const cuda::Bytes& a,
                            const cuda::Bytes& b, std::int32_t* c, cudaStream_t stream);

Launcher each_product(const Problem& problem, OneProduct product) {
  return [p = matmul_problem(problem.inputs, {}), left = bytes_of(problem, 0), right = bytes_of(problem, 1),
          product](const LaunchArgs& a) {
    for (std::size_t i = 0; i < p.a.size(); ++i)
      product(p.m, p.n, p.k, at(left, a, 0, p.a[i]), at(right, a, 1, p.b[i]),
              a.out<std::int32_t>(0) + static_cast<std::int64_t>(i) * p.m * p.n, cuda::stream_of(a));
  };
}

}  // namespace

Launcher prepare_matmul_integer_cuda(const Problem& problem, const LaunchContext&) {
  return each_product(problem, cuda::integer_product);
}

Launcher prepare_matmul_integer_cuda_tiles(const Problem& problem, const LaunchContext&) {
  return each_product(problem, cuda::integer_product_tiles);
}

Launcher prepare_conv2d_integer_cuda(const Problem& problem, const LaunchContext&) {
  const Conv2d c = parse_conv2d(problem);
  const cuda::IntegerConvolution shape{c.batch, c.channels, c.maps, c.groups, c.window};
  return [shape, x = bytes_of(problem, 0), w = bytes_of(problem, 1)](const LaunchArgs& a) {
    cuda::integer_convolution(shape, at(x, a, 0), at(w, a, 1), a.out<std::int32_t>(0), cuda::stream_of(a));
  };
}

}  // namespace headroom

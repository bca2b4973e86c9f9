#include "ops/cuda/launch.h"
#include "ops/integer_product/cuda/bytes.h"
#include "ops/integer_product/integer_product.h"

namespace headroom {

Launcher prepare_matmul_integer_cuda(const Problem& problem, const LaunchContext&) {
  return [p = folded_matmul_integer(problem), left = bytes_of(problem, 0),
          right = bytes_of(problem, 1)](const LaunchArgs& a) {
    for (std::size_t i = 0; i < p.a.size(); ++i)
      cuda::integer_product(p.m, p.n, p.k, at(left, a, 0, p.a[i]), at(right, a, 1, p.b[i]),
                            a.out<std::int32_t>(0) + static_cast<std::int64_t>(i) * p.m * p.n,
                            cuda::stream_of(a));
  };
}

Launcher prepare_conv2d_integer_cuda(const Problem& problem, const LaunchContext&) {
  const Conv2d c = parse_conv2d(problem);
  const cuda::IntegerConvolution shape{c.batch, c.channels, c.maps, c.groups, c.window};
  return [shape, x = bytes_of(problem, 0), w = bytes_of(problem, 1)](const LaunchArgs& a) {
    cuda::integer_convolution(shape, at(x, a, 0), at(w, a, 1), a.out<std::int32_t>(0), cuda::stream_of(a));
  };
}

}  // namespace headroom

#include "ops/cpu/packed_gemm.h"

#include "ops/cpu/packed_product.h"

namespace headroom {
namespace cpu_packed_gemm_cc {
namespace {

using gemm_tile::used_tile, packed::GemmFactor, packed::PackedProduct, packed::pieces;

// No terms to add.
template <class T>
void scale_only(const GemmExtent& extent, T beta, T* c, std::int64_t ldc, const AfterGemm<T>& after) {
  for (std::int64_t i = 0; i < extent.m; ++i) {
    for (std::int64_t j = 0; j < extent.n; ++j) c[i * ldc + j] = beta == 0 ? T{0} : beta * c[i * ldc + j];
    if (after) after(i, 0, extent.n, c + i * ldc);
  }
}

}  // namespace
}  // namespace cpu_packed_gemm_cc

template <class T>
int product_threads(const gemm_tile::Tile<T>& tile, const GemmExtent& extent, int limit) {
  using namespace cpu_packed_gemm_cc;
  const double rate =
      7e9 * tile.lanes;  // FLOP/s: three quarters of the peak of a core of 2.3 GHz with two units
  const auto columns = static_cast<double>(pieces(extent.n, tile.lanes) * tile.lanes);
  const double seconds = 2.0 * static_cast<double>(extent.m * extent.k) * columns / rate;
  const std::int64_t blocks =
      pieces(extent.k, packed::block_terms(tile, extent.k)) * pieces(extent.n, packed::kBlockColumns);
  return team_costs().threads_for(seconds, limit, static_cast<int>(std::min<std::int64_t>(blocks, 1000)));
}
template int product_threads(const gemm_tile::Tile<float>&, const GemmExtent&, int);
template int product_threads(const gemm_tile::Tile<double>&, const GemmExtent&, int);

template <class T>
void packed_gemm(const gemm_tile::Tile<T>& tile, bool trans_a, bool trans_b, const GemmExtent& extent,
                 T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                 std::int64_t ldc, const AfterGemm<T>& after) {
  using namespace cpu_packed_gemm_cc;
  if (extent.m <= 0 || extent.n <= 0) return;
  if (extent.k <= 0) return scale_only(extent, beta, c, ldc, after);
  const auto left = trans_a ? GemmFactor<T>{a, 1, lda} : GemmFactor<T>{a, lda, 1};
  const auto right = trans_b ? GemmFactor<T>{b, ldb, 1} : GemmFactor<T>{b, 1, ldb};
  PackedProduct<T>(tile, extent, left, right, alpha, beta, c, ldc, after).run();
}

namespace cpu_packed_gemm_cc {
namespace {

template <class T>
PackedProduct<T> product_with(const GemmExtent& extent, GemmFactor<T> a, GemmFactor<T> b, T beta, T* c,
                              std::int64_t ldc) {
  static const AfterGemm<T> nothing;
  return {used_tile<T>(), extent, a, b, T{1}, beta, c, ldc, nothing};
}

}  // namespace
}  // namespace cpu_packed_gemm_cc

template <class T>
std::int64_t packed_elements(std::int64_t n, std::int64_t k) {
  using namespace cpu_packed_gemm_cc;
  return pieces(n, used_tile<T>().columns) * used_tile<T>().columns * k;
}

template <class T>
void pack_right(bool trans_b, std::int64_t n, std::int64_t k, const T* b, std::int64_t ldb, T* packed) {
  using namespace cpu_packed_gemm_cc;
  if (n <= 0 || k <= 0) return;
  const auto right = trans_b ? GemmFactor<T>{b, ldb, 1} : GemmFactor<T>{b, 1, ldb};
  product_with<T>({1, n, k}, {}, right, T{0}, nullptr, 0).pack_right(packed);
}

template <class T>
void gemm_by_packed(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t lda,
                    const T* packed, T beta, T* c, std::int64_t ldc) {
  using namespace cpu_packed_gemm_cc;
  if (m <= 0 || n <= 0) return;
  if (k <= 0) return scale_only(GemmExtent{m, n, k}, beta, c, ldc, AfterGemm<T>());
  auto product = product_with<T>({m, n, k}, {a, lda, 1}, {}, beta, c, ldc);
  product.use_packed(packed);
  product.run();
}

#define HEADROOM_BY_PACKED(T)                                                                              \
  template std::int64_t packed_elements<T>(std::int64_t, std::int64_t);                                    \
  template void pack_right(bool, std::int64_t, std::int64_t, const T*, std::int64_t, T*);                  \
  template void gemm_by_packed(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                               T, T*, std::int64_t);
HEADROOM_BY_PACKED(float)
HEADROOM_BY_PACKED(double)
#undef HEADROOM_BY_PACKED

template void packed_gemm(const gemm_tile::Tile<float>&, bool, bool, const GemmExtent&, float, const float*,
                          std::int64_t, const float*, std::int64_t, float, float*, std::int64_t,
                          const AfterGemm<float>&);
template void packed_gemm(const gemm_tile::Tile<double>&, bool, bool, const GemmExtent&, double,
                          const double*, std::int64_t, const double*, std::int64_t, double, double*,
                          std::int64_t, const AfterGemm<double>&);

}  // namespace headroom

// The product of weights and unrolled image, which is gathered as it is needed and never stored: by tiles in
// shared memory, or with 4 x 4 sums in the registers of each thread.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// fused_matmul.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes. The tile is 16 or 32.
void conv2d_fused_matmul(int tile, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream);
// `rows`: maps of a tile of 4,096 outputs: 16, 32 or 64.
void conv2d_register_matmul(int rows, const Sweep& s, const float* x, const float* w, const float* bias,
                            float* y, cudaStream_t stream);
void conv2d_register_matmul_weight(const Sweep& s, int pieces, const float* x, const float* dy, float* dw,
                                   float* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

int weight_pieces(const Sweep& s, const Target& target) {
  const std::int64_t blocks = ceil_div(s.maps, 32) * ceil_div(s.depth(), 128) * s.groups;
  const std::int64_t most = std::min<std::int64_t>(s.batch, 65535 / s.groups);
  const std::int64_t needed = ceil_div(s.pixels(), 1 << 30);  // a piece counts its pixels in 32 bits
  return static_cast<int>(std::max(needed, std::clamp<std::int64_t>(ceil_div(4 * processors(target), blocks),
                                                                    1, std::min<std::int64_t>(most, 512))));
}

Verdict accepts_fused(const Problem& p, const Target&) {
  if (Verdict v = accepts_rung(p, sweep_of(p)); !v.ok) return v;
  return is_weight_gradient(p) ? refuse("the product of outputs: weights are another one") : accept();
}

Verdict accepts_registers(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p) && std::int64_t{weight_pieces(s, target)} * s.groups > 65535)
    return refuse("more groups than its grid");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return is_weight_gradient(p) ? bytes_of_pieces(p, weight_pieces(sweep_of(p), target)) : 0;
}

// Each block reads its rows of one factor, depth long, and what its columns of the other see of the image,
// which the first cache keeps. Weights: all of dy and of the image.
double asked_bytes(const Problem& p, const Sweep& s, std::int64_t m, std::int64_t n, ProductExtent tile) {
  const double down = double(ceil_div(m, tile.m)), across = double(ceil_div(n, tile.n)),
               copies = double(s.batch) * s.groups;
  if (is_weight_gradient(p))
    return 4 * copies *
           (double(m) * s.out_plane() * across + double(s.channels) * s.in_plane() * down * across);
  return 4 * copies *
             (double(m) * s.depth() * across +
              elements_seen(s, static_cast<int>(tile.n)) * s.channels * down) +
         double(p.outputs[0].bytes());
}

Work product_work(const Problem& p, const Target& target, std::string_view family, std::int64_t m,
                  std::int64_t n, std::int64_t copies, ProductExtent tile) {
  const Sweep s = sweep_of(p);
  const std::int64_t depth = is_weight_gradient(p) ? s.pixels() : s.depth();
  const std::int64_t blocks = ceil_div(m, tile.m) * ceil_div(n, tile.n);
  Work work = rung_work(p, target, family, blocks * copies, asked_bytes(p, s, m, n, tile), tile);
  work.main().useful = double(m * n) / double(blocks * tile.m * tile.n);
  const double terms = double(ceil_div(depth, tile.k) * tile.k);  // with the zeros of padding
  *work.main().executed +=
      2 * (double(blocks * copies) * double(tile.m * tile.n) * terms - products_inside(s));
  return work;
}

Work work_fused(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  return product_work(p, target, "gpu.conv.shared_product", s.maps, s.out_plane(),
                      std::int64_t{s.batch} * s.groups, {16, 16, 16});
}

// The tile that leaves the fewest rows empty.
int rows_of(const Sweep& s) { return s.maps <= 16 ? 16 : s.maps <= 32 ? 32 : 64; }

Work work_registers(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (!is_weight_gradient(p))
    return product_work(p, target, "gpu.conv.register_product", s.maps, s.out_plane(),
                        std::int64_t{s.batch} * s.groups, {rows_of(s), 4096 / rows_of(s), 16});
  const int pieces = weight_pieces(s, target);
  Work work =
      product_work(p, target, "gpu.conv.register_product", s.maps, s.depth(), s.groups, {32, 128, 16});
  work.main().blocks *= pieces;
  return with_pieces(p, std::move(work), workspace(p, target));
}

std::vector<std::string> fused_tiles(const Problem&, const Target&) { return {"tile=16", "tile=32"}; }

std::vector<std::string> register_tiles(const Problem& p, const Target&) {
  if (is_weight_gradient(p)) return {"tile=32x128"};
  std::vector<std::string> names = {"tile=16x256", "tile=32x128", "tile=64x64"};
  const int best = rows_of(sweep_of(p));
  std::swap(names[0], names[best == 16 ? 0 : best == 32 ? 1 : 2]);
  return names;
}

#ifdef HEADROOM_HAS_CUDA
// The number after "tile="; `fallback` where the plan names none.
int tile_in(std::string_view kernel, const std::string& variant, const std::vector<std::string>& names) {
  const std::string& name = variant.empty() ? names.front() : variant;
  if (std::ranges::find(names, name) == names.end())
    reject(nearest(name, names), "kernel '{}' refuses '{}': it is compiled for {}", kernel, name,
           fmt::join(names, ", "));
  return std::stoi(name.substr(5));
}

Launcher prepare_fused(const Problem& p, const LaunchContext& context) {
  const int tile = tile_in("cuda:fused_matmul", context.variant, fused_tiles(p, context.target));
  return [tile, s = sweep_of(p), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_fused_matmul(tile, s, a.in<float>(0), a.in<float>(1), bias ? a.in<float>(2) : nullptr,
                              a.out<float>(0), cuda::stream_of(a));
  };
}

Launcher prepare_registers(const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  const int rows = tile_in("cuda:register_matmul", context.variant, register_tiles(p, context.target));
  if (is_weight_gradient(p))
    return [s, pieces = weight_pieces(s, context.target)](const LaunchArgs& a) {
      cuda::conv2d_register_matmul_weight(s, pieces, a.in<float>(0), a.in<float>(1), a.out<float>(0),
                                          static_cast<float*>(a.workspace), cuda::stream_of(a));
    };
  return [rows, s, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_register_matmul(rows, s, a.in<float>(0), a.in<float>(1), bias ? a.in<float>(2) : nullptr,
                                 a.out<float>(0), cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_fused_matmul() {
  return {.name = "cuda:fused_matmul",
          .device = DeviceKind::cuda,
          .accepts = accepts_fused,
          .work = work_fused,
          .prepare = HEADROOM_CUDA(prepare_fused),
          .candidates = fused_tiles};
}

Kernel conv2d_cuda_register_matmul() {
  return {.name = "cuda:register_matmul",
          .device = DeviceKind::cuda,
          .accepts = accepts_registers,
          .work = work_registers,
          .prepare = HEADROOM_CUDA(prepare_registers),
          .workspace = workspace,
          .candidates = register_tiles};
}

}  // namespace headroom

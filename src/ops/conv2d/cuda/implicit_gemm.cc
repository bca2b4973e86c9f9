// A product on the tensor cores whose left factor, the unrolled image, is gathered as it is needed.
#include <algorithm>

#include "ops/conv2d/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// implicit_gemm.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_implicit_gemm(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x, const void* w,
                          const void* bias, void* y, void* partial, cudaStream_t stream);
// implicit_gemm_weight.cu: dw, for the sweep of the forward product, in two launches.
void conv2d_implicit_gemm_weight(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x,
                                 const void* dy, void* dw, void* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

std::int64_t tiles(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

// Into how many pieces the sum over pixels (a gradient of weights) or over channels and taps is cut, so that
// there are blocks for every multiprocessor.
int sum_pieces_of(const Sweep& s, const Target& target) {
  const std::int64_t columns = s.maps <= 16 ? 16 : 64;
  const std::int64_t blocks = (s.pixels() + 63) / 64 * s.groups * ((s.maps + columns - 1) / columns);
  const std::int64_t sms = processors(target);
  if (2 * blocks > sms) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min<std::int64_t>(sms / blocks, s.depth() / 64), 1, 32));
}

int weight_pieces(const Sweep& s, const Target& target) {
  const std::int64_t columns = s.maps <= 16 ? 16 : 64;
  const std::int64_t blocks = (s.depth() + 63) / 64 * s.groups * ((s.maps + columns - 1) / columns);
  const std::int64_t wanted = (2 * processors(target) + blocks - 1) / blocks;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, s.pixels() / 128), 1, 256));
}

Verdict accepts(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, target); !v.ok) return v;
  if (s.pixels() > 0x7FFF0000LL || s.groups * ((s.maps + 15) / 16) > 65535)
    return refuse("more pixels or groups than its indices hold");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (is_weight_gradient(p)) return bytes_of_pieces(p, weight_pieces(s, target));
  const int pieces = sum_pieces_of(s, target);
  return pieces > 1 ? bytes_of_pieces(p, pieces) : 0;
}

// Whole tiles and steps. Exact: three products, of parts that warps of 32 x 32 split every 16 of the sum,
// where sums begin anew; else those of weights begin anew every fourth step, the others never.
double executed_of(const Problem& p, const Sweep& s, bool exact, int pieces) {
  const bool weight = is_weight_gradient(p), bias = p.inputs.size() > 2;
  const std::int64_t columns = s.maps <= 16 ? 16 : 64, depth = size_of(p.outputs[0].dtype) == 2 ? 32 : 16;
  const std::int64_t steps = tiles(weight ? s.pixels() : s.depth(), depth), of_piece = tiles(steps, pieces),
                     busy = tiles(steps, of_piece);
  const double tile = 64.0 * double(columns),
               all = tile * double(tiles(weight ? s.depth() : s.pixels(), 64) * tiles(s.maps, columns)) *
                     s.groups;
  const std::int64_t fresh =
      !weight ? pieces
              : (busy - 1) * tiles(of_piece, 4) + tiles(steps - (busy - 1) * of_piece, 4) + pieces - busy;
  const double once = 2 * all * double(steps * depth);
  return once * (exact ? 3 + 1.0 / 16 : 1) + all * double(exact ? pieces : fresh) +
         (bias && pieces == 1 ? double(p.outputs[0].shape.numel()) : 0);
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  const DType dtype = p.outputs[0].dtype;
  work.with(by_arithmetic(p, target, "gpu.conv.implicit.fp32", "gpu.conv.implicit.tf32",
                          "gpu.conv.implicit.fp64", "gpu.conv.implicit.tf32"),
            is_exact_fp32(p, target) ? Unit::tf32 : tensor_unit(dtype, target.policy.tf32), extent_of(p));
  const Sweep s = sweep_of(p);
  const std::int64_t columns = s.maps <= 16 ? 16 : 64;
  const bool weight = is_weight_gradient(p);
  const int pieces = weight ? weight_pieces(s, target) : sum_pieces_of(s, target);
  KernelLaunch& main = work.main();
  main.tile = {64, columns, 32};
  main.blocks = tiles(weight ? s.depth() : s.pixels(), 64) * tiles(s.maps, columns) * s.groups * pieces;
  main.useful = double(s.maps) / double(columns * tiles(s.maps, columns));
  // Each row of tiles reads dy again, and the image, whose windows the first cache keeps.
  if (weight)
    main.l2_bytes =
        double(tiles(s.depth(), 64)) *
        (double(p.inputs[0].bytes()) * double(tiles(s.maps, columns)) + double(p.inputs[1].bytes()));
  main.executed = executed_of(p, s, is_exact_fp32(p, target), pieces);
  return with_pieces(p, std::move(work), workspace(p, target));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  const bool tf32 = context.target.policy.tf32;
  if (p.op == "conv2d_grad_weight")
    return [dtype, tf32, s, pieces = weight_pieces(s, context.target)](const LaunchArgs& a) {
      cuda::conv2d_implicit_gemm_weight(dtype, tf32, s, pieces, a.inputs[0], a.inputs[1], a.outputs[0],
                                        a.workspace, cuda::stream_of(a));
    };
  return [dtype, tf32, s, pieces = sum_pieces_of(s, context.target),
          bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_implicit_gemm(dtype, tf32, s, pieces, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr,
                               a.outputs[0], a.workspace, cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_implicit_gemm() {
  return {.name = "cuda:implicit_gemm",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom

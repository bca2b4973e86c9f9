// The unrolled image (im2col) in memory, then a product by tiles in shared memory. Chunks of images keep the
// matrix small; on two streams, one chunk is unrolled while another is multiplied.
#include <algorithm>
#include <memory>

#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// unroll_matmul.cu: `images` of the sweep's batch, from `first` on. The matrix is
// [image][group][depth][pixel].
void conv2d_unroll(const Sweep& s, int first, int images, const float* x, float* matrix, cudaStream_t stream);
void conv2d_matmul(const Sweep& s, int first, int images, const float* matrix, const float* w,
                   const float* bias, float* y, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

constexpr std::int64_t kMatrixBytes = 256LL << 20;  // of all chunks that are alive

std::int64_t image_bytes(const Sweep& s) { return std::int64_t{4} * s.groups * s.depth() * s.out_plane(); }

// Images of a chunk; `lanes` chunks are alive at once.
int chunk_of(const Sweep& s, int lanes) {
  const std::int64_t fitting = std::min(kMatrixBytes / lanes / std::max<std::int64_t>(image_bytes(s), 1),
                                        std::int64_t{65535} / s.groups);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, 1, ceil_div(s.batch, lanes)));
}

Verdict accepts(const Problem& p, const Target&) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("the product of outputs: weights are another one");
  return accept();
}

std::size_t workspace(int lanes, const Problem& p) {
  const Sweep s = sweep_of(p);
  return static_cast<std::size_t>(lanes * chunk_of(s, lanes) * image_bytes(s));
}

// The matrix is written once and read once.
Work work(int lanes, const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const std::int64_t blocks = ceil_div(s.out_plane(), 16) * ceil_div(s.maps, 16) * s.groups * s.batch;
  Work work = rung_work(p, target, "gpu.conv.shared_product", blocks,
                        4.0 * double(blocks) * s.depth() * 32 + double(p.outputs[0].bytes()), {16, 16, 16});
  const int chunks = static_cast<int>(ceil_div(s.batch, chunk_of(s, lanes)));
  const double matrix = double(s.batch) * double(image_bytes(s));
  work.main().useful = double(s.maps) / double(16 * ceil_div(s.maps, 16));
  work.main().executed.reset();  // whole tiles
  work.main().count = chunks;
  work.add_bytes(matrix);
  return work.add_pass(matrix, chunks);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_chunks(const Problem& p, const LaunchContext&) {
  return [s = sweep_of(p), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    auto* matrix = static_cast<float*>(a.workspace);
    const int chunk = chunk_of(s, 1);
    for (int first = 0; first < s.batch; first += chunk) {
      const int images = std::min(chunk, s.batch - first);
      cuda::conv2d_unroll(s, first, images, a.in<float>(0), matrix, cuda::stream_of(a));
      cuda::conv2d_matmul(s, first, images, matrix, a.in<float>(1), bias ? a.in<float>(2) : nullptr,
                          a.out<float>(0), cuda::stream_of(a));
    }
  };
}

// Even chunks on the stream of the launch, odd ones on the device's side stream, each with its own matrix.
Launcher prepare_streams(const Problem& p, const LaunchContext& context) {
  const std::shared_ptr<Event> begin = context.device->make_event(), end = context.device->make_event();
  return [s = sweep_of(p), bias = parse_conv2d(p).bias, begin, end,
          device = context.device](const LaunchArgs& a) {
    Stream& side = device->side_stream();
    begin->record(*a.stream);
    begin->hold(side);
    const int chunk = chunk_of(s, 2);
    for (int first = 0, lane = 0; first < s.batch; first += chunk, lane = 1 - lane) {
      const LaunchArgs on{a.inputs, a.outputs, a.workspace, lane == 0 ? a.stream : &side};
      float* matrix = static_cast<float*>(a.workspace) + lane * (chunk * image_bytes(s) / 4);
      const int images = std::min(chunk, s.batch - first);
      cuda::conv2d_unroll(s, first, images, a.in<float>(0), matrix, cuda::stream_of(on));
      cuda::conv2d_matmul(s, first, images, matrix, a.in<float>(1), bias ? a.in<float>(2) : nullptr,
                          a.out<float>(0), cuda::stream_of(on));
    }
    end->record(side);
    end->hold(*a.stream);
  };
}
#endif

Kernel kernel_of(std::string_view name, int lanes) {
  return {.name = name,
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = [lanes](const Problem& p, const Target& target) { return work(lanes, p, target); },
          .prepare = nullptr,
          .workspace = [lanes](const Problem& p, const Target&) { return workspace(lanes, p); }};
}

}  // namespace

Kernel conv2d_cuda_unroll_matmul() {
  Kernel kernel = kernel_of("cuda:unroll_matmul", 1);
  kernel.prepare = HEADROOM_CUDA(prepare_chunks);
  return kernel;
}

Kernel conv2d_cuda_unroll_streams() {
  Kernel kernel = kernel_of("cuda:unroll_streams", 2);
  kernel.prepare = HEADROOM_CUDA(prepare_streams);
  return kernel;
}

}  // namespace headroom

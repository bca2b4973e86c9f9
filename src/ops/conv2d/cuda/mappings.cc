// Other ways to divide the work: a block for each image, a block for each image and map, and the channels of
// a sum among threads, whose parts are added up by a tree in shared memory or by atomic additions.
#include <algorithm>
#include <bit>

#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// mappings.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_blocks(bool per_map, const Sweep& s, const float* x, const float* w, const float* bias, float* y,
                   cudaStream_t stream);
void conv2d_channel_tree(int shares, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream);
void conv2d_channel_atomics(const Sweep& s, const float* x, const float* w, const float* bias, float* y,
                            cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

enum class Mapping { image, map, tree, atomics };

Verdict accepts(Mapping mapping, const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("a mapping of outputs: weights are summed over them");
  if (mapping == Mapping::tree && ceil_div(s.pixels(), 32) > 0x7FFFFFFF)
    return refuse("more pixels than its grid");
  if (mapping != Mapping::atomics) return accept();
  if (target.policy.deterministic) return refuse("atomic additions come in any order");
  if (s.activation != 0) return refuse("no activation: nobody knows which addition is the last");
  if (std::int64_t{s.groups} * s.maps * s.channels > 65535)
    return refuse("more than 65,535 pairs of maps and channels: a grid has no more");
  if (ceil_div(s.out_plane(), 256) * s.batch > 0x7FFFFFFF) return refuse("more pixels than its grid");
  return accept();
}

// Threads that share the channels of one output: a power of two.
int shares_of(const Sweep& s) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::min(s.channels, 16))));
}

Work work(Mapping mapping, const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const std::int64_t maps = std::int64_t{s.groups} * s.maps;
  const double image = seen_bytes(s, s.out_h, s.out_w),
               outputs = 4.0 * double(s.batch * maps) * s.out_plane();
  switch (mapping) {
    case Mapping::image:  // every map reads the image again
      return rung_work(p, target, "gpu.conv.naive", s.batch, image * double(s.batch * maps),
                       {s.out_plane(), maps, 0});
    case Mapping::map:
      return rung_work(p, target, "gpu.conv.naive", s.batch * maps, image * double(s.batch * maps),
                       {s.out_plane(), 1, 0});
    case Mapping::tree: {
      const std::int64_t blocks = ceil_div(s.pixels(), 32) * maps;
      Work work = rung_work(p, target, "gpu.conv.naive", blocks, double(blocks) * seen_bytes(s, 1, 32),
                            {32, 1, s.depth()});
      *work.main().executed += 32.0 * double(blocks) * (shares_of(s) - 1);
      return work;
    }
    default: {  // every channel adds to every output, in L2
      Work work =
          rung_work(p, target, "gpu.conv.naive", ceil_div(s.out_plane(), 256) * s.batch * maps * s.channels,
                    image * double(s.batch * maps) + 2 * outputs * s.channels, {256, 1, s.taps()});
      return work.add_pass(outputs);
    }
  }
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(Mapping mapping, const Problem& p) {
  return [mapping, s = sweep_of(p), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    const float *x = a.in<float>(0), *w = a.in<float>(1), *b = bias ? a.in<float>(2) : nullptr;
    if (mapping == Mapping::tree)
      return cuda::conv2d_channel_tree(shares_of(s), s, x, w, b, a.out<float>(0), cuda::stream_of(a));
    if (mapping == Mapping::atomics)
      return cuda::conv2d_channel_atomics(s, x, w, b, a.out<float>(0), cuda::stream_of(a));
    cuda::conv2d_blocks(mapping == Mapping::map, s, x, w, b, a.out<float>(0), cuda::stream_of(a));
  };
}
#endif

Kernel kernel_of(std::string_view name, Mapping mapping) {
  return {
      .name = name,
      .device = DeviceKind::cuda,
      .accepts = [mapping](const Problem& p, const Target& target) { return accepts(mapping, p, target); },
      .work = [mapping](const Problem& p, const Target& target) { return work(mapping, p, target); },
#ifdef HEADROOM_HAS_CUDA
      .prepare = [mapping](const Problem& p, const LaunchContext&) { return prepare(mapping, p); },
#endif
  };
}

}  // namespace

Kernel conv2d_cuda_block_per_image() { return kernel_of("cuda:block_per_image", Mapping::image); }
Kernel conv2d_cuda_block_per_map() { return kernel_of("cuda:block_per_map", Mapping::map); }
Kernel conv2d_cuda_channel_tree() { return kernel_of("cuda:channel_tree", Mapping::tree); }
Kernel conv2d_cuda_channel_atomics() { return kernel_of("cuda:channel_atomics", Mapping::atomics); }

}  // namespace headroom

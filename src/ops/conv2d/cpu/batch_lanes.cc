// Images in the lanes of a register: which problems it takes, and how each of the three products is put to
// it. The loops are in batch_lanes_loops.cc and batch_lanes_weight.cc.
#include "ops/conv2d/cpu/batch_lanes.h"
#include "ops/conv2d/cpu/pixel_lanes.h"

namespace headroom {
namespace conv2d_cpu_batch_lanes_cc {
namespace {

Conv2d as_run(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  return p.op == "conv2d_grad_input" ? pixels::input_gradient_as_conv(c) : c;
}

template <class T>
lanes::Scratch scratch_of(const Problem& p) {
  if (p.op == "conv2d_grad_weight") return lanes::WeightGradient<T>{as_run(p)}.scratch();
  return lanes::Direct<T>{as_run(p)}.scratch();
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  const auto element = static_cast<std::int64_t>(size_of(p.outputs[0].dtype));
  if (c.batch * element < target.device.vector_bytes)
    return refuse(fmt::format("{} images do not fill a register", c.batch));
  if (p.op == "conv2d_grad_input") {
    if (c.window.stride != Extent2d{1, 1}) return refuse("input gradient of a strided window");
    const Conv2d t = pixels::input_gradient_as_conv(c);
    if (t.window.pad.h < 0 || t.window.pad.w < 0) return refuse("padding wider than the window");
  }
  // Beyond a share of L2 the block and its weights no longer stay in cache and the library's blocking wins.
  constexpr std::int64_t kBlockBytes = 1 << 20, kWideDepth = 1024, kWideMaps = 64;
  const lanes::Scratch s = dispatch_float(p.outputs[0].dtype, [&]<class T>() { return scratch_of<T>(p); });
  if (s.touched * element > kBlockBytes) return refuse("a block of images exceeds the cache");
  // Measured on a Neoverse V1: from here on pixels in lanes, which copy one image at a time, are faster. They
  // lose where maps leave much of their tiles idle.
  constexpr std::int64_t kLargeBlock = kBlockBytes / 4, kTileMaps = 16;
  if (p.op != "conv2d_grad_weight" && s.touched * element > kLargeBlock &&
      as_run(p).group_maps() >= kTileMaps)
    return refuse("large enough for pixels in lanes");
  if (c.depth() >= kWideDepth && c.group_maps() >= kWideMaps)
    return refuse("wide enough for the matrix library");
  return accept();
}

std::size_t workspace(const Problem& p, const Target& target) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const lanes::Scratch s = scratch_of<T>(p);
    return static_cast<std::size_t>(s.shared + target.device.threads * s.per_thread) * sizeof(T);
  });
}

Work work(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, target);
  work.with("cpu.batch_lanes", ordinary_unit(p.outputs[0].dtype), {.n = c.group_maps()});
  const std::int64_t lanes =
      dispatch_float(p.outputs[0].dtype, []<class T>() -> std::int64_t { return simd::kLanes<T>; });
  work.main().blocks = (c.batch + lanes - 1) / lanes;
  work.main().useful = double(c.batch) / double(work.main().blocks * lanes);
  return work.add_bytes(work.bytes());  // inputs and outputs are written once more, in lane order
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    if (p.op == "conv2d_grad_weight")
      return [run = lanes::WeightGradient<T>{as_run(p)}](const LaunchArgs& a) {
        run.run(a.in<T>(0), a.in<T>(1), a.out<T>(0), static_cast<T*>(a.workspace));
      };
    return [run = lanes::Direct<T>{as_run(p), p.op == "conv2d_grad_input"}](const LaunchArgs& a) {
      run.run(a.in<T>(0), a.in<T>(1), run.c.bias ? a.in<T>(2) : nullptr, a.out<T>(0),
              static_cast<T*>(a.workspace));
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_batch_lanes_cc

Kernel conv2d_cpu_batch_lanes() {
  using namespace conv2d_cpu_batch_lanes_cc;
  return {.name = "cpu:batch_lanes",
          .accepts = accepts,
          .work = work,
          .prepare = prepare,
          .workspace = workspace};
}

}  // namespace headroom

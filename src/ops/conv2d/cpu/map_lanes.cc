// Weight gradients with neighbouring maps in the lanes of a register. dy is transposed, so that maps of a
// pixel lie side by side; every k = (channel, tap) then reads its pixels one by one where the padded copy of
// the image has them, and nothing is unrolled. A tile of k x maps stays in registers over rows of pixels. One
// thread adds all terms of a sum, in the order of the pixels, so the bits do not depend on their number.
#include <algorithm>

#include "ops/conv2d/cpu/pixel_lanes.h"
#include "ops/cpu/gemm_tile.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace conv2d_cpu_map_lanes_cc {
namespace {

using pixels::Source;

// Sums in registers: 12 x 2 leave eight of 32 for factors, 6 x 2 leave four of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kTileTaps = 12;
#else
constexpr int kTileTaps = 6;
#endif
constexpr int kTileVectors = 2;
constexpr std::int64_t kPanelBytes = 128 << 10;  // of dy: stays in the second cache
constexpr std::int64_t kChunkBytes = 1 << 20;    // of copied images: small ones are handled together

std::int64_t in_multiples(std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; }

// Rows of pixels: `x` are those of k = 0, `dy` the maps of the first pixel.
template <class T>
struct Stripe {
  const T *x, *dy;
  std::int64_t rows, width, pitch;
};

// sums[kTaps][vectors] += the products of a stripe; from zero unless it goes on.
template <class T, int kTaps, int kVectors>
void multiply_stripe(const Stripe<T>& s, const std::int64_t* offsets, bool goes_on, T* sums) {
  constexpr std::int64_t kL = simd::kLanes<T>;
  simd::Vec<T> sum[kTaps][kVectors] = {};
  const T* dy = s.dy;
  std::int64_t offset[kTaps];
  for (int k = 0; k < kTaps; ++k) offset[k] = offsets[k];
  if (goes_on)
    for (int k = 0; k < kTaps; ++k)
      for (int v = 0; v < kVectors; ++v) sum[k][v] = simd::load(sums + (k * kVectors + v) * kL);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const T* x = s.x + row * s.pitch;
    for (const T* const end = x + s.width; x < end; ++x, dy += kVectors * kL) {
      simd::Vec<T> maps[kVectors];
      for (int v = 0; v < kVectors; ++v) maps[v] = simd::load(dy + v * kL);
      for (int k = 0; k < kTaps; ++k) {
        const simd::Vec<T> pixel = simd::broadcast<T>(x[offset[k]]);
        for (int v = 0; v < kVectors; ++v) sum[k][v] += pixel * maps[v];
      }
    }
  }
  for (int k = 0; k < kTaps; ++k)
    for (int v = 0; v < kVectors; ++v) simd::store(sums + (k * kVectors + v) * kL, sum[k][v]);
}

template <class T, int kTaps = kTileTaps>
void multiply_stripe(std::int64_t taps, std::int64_t vectors, const Stripe<T>& s, const std::int64_t* offsets,
                     bool goes_on, T* sums) {
  if constexpr (kTaps > 1)
    if (taps < kTaps) return multiply_stripe<T, kTaps - 1>(taps, vectors, s, offsets, goes_on, sums);
  if (vectors == kTileVectors)
    multiply_stripe<T, kTaps, kTileVectors>(s, offsets, goes_on, sums);
  else
    multiply_stripe<T, kTaps, 1>(s, offsets, goes_on, sums);
}

template <class T>
struct MapLanes {
  static constexpr std::int64_t kL = simd::kLanes<T>, kPanel = kTileVectors * kL;
  Conv2d c;
  Source source;
  std::int64_t copied, packed, chunk;  // elements of an image's copy and of its dy; images at once

  explicit MapLanes(const Conv2d& convolution)
      : c(convolution),
        source(pixels::dense_source(c, kL)),
        copied(in_multiples(source.elements(), kL)),
        packed(in_multiples(c.group_maps(), kL) * c.output_plane()),
        chunk(std::clamp<std::int64_t>(kChunkBytes / ((copied + packed) * std::int64_t{sizeof(T)}), 1,
                                       std::max<std::int64_t>(c.batch, 1))) {}

  std::int64_t panels() const { return (c.group_maps() + kPanel - 1) / kPanel; }
  std::int64_t tiles() const { return (c.depth() + kTileTaps - 1) / kTileTaps; }
  std::int64_t panel_maps(std::int64_t panel) const {
    return std::min(kPanel, c.group_maps() - panel * kPanel);
  }
  std::int64_t panel_width(std::int64_t panel) const { return in_multiples(panel_maps(panel), kL); }
  std::int64_t elements() const {
    return chunk * (copied + packed) + in_multiples(c.group_maps(), kL) * c.depth();
  }

  void run(const T* x, const T* dy, T* dw, T* workspace) const {
    T *copies = workspace, *turned = copies + chunk * copied, *sums = turned + chunk * packed;
    for (std::int64_t group = 0; group < c.groups; ++group) {
      for (std::int64_t first = 0; first < c.batch; first += chunk) {
        const std::int64_t images = std::min(chunk, c.batch - first), item = first * c.groups + group;
        copy_images(images, x + item * c.group_channels() * c.input_plane(), copies);
        turn(images, dy + item * c.group_maps() * c.output_plane(), turned);
        multiply(images, copies, turned, first > 0, sums);
      }
      finish(sums, dw + group * c.group_maps() * c.depth());
    }
  }

 private:
  void copy_images(std::int64_t images, const T* x, T* copies) const {
    parallel_for(images * source.channels, kElementwiseGrain / source.channel + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t n = begin; n < end; ++n) {
                     const std::int64_t i = n / source.channels, k = n % source.channels;
                     copy_channels(c, source, x + i * c.input_image(), k, k + 1, copies + i * copied);
                   }
                 });
  }

  // dy[maps, pixels] to panels[pixels, maps].
  void turn(std::int64_t images, const T* dy, T* turned) const {
    const std::int64_t plane = c.output_plane();
    parallel_for(images * panels(), kElementwiseGrain / (kPanel * plane) + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t n = begin; n < end; ++n) {
                     const std::int64_t i = n / panels(), panel = n % panels(), at = panel * kPanel * plane;
                     gemm_tile::used_tile<T>().pack(dy + i * c.output_image() + at, plane, panel_maps(panel),
                                                    plane, panel_width(panel), turned + i * packed + at);
                   }
                 });
  }

  // sums[panel][k][maps]. Threads share tiles. Each walks all pixels: some rows, or some small images, for
  // all of its tiles.
  void multiply(std::int64_t images, const T* copies, const T* turned, bool goes_on, T* sums) const {
    const std::int64_t width = c.window.output.w, rows = c.window.output.h;
    const std::int64_t row_bytes = width * kPanel * std::int64_t{sizeof(T)};
    const std::int64_t rows_at_once = std::clamp<std::int64_t>(kPanelBytes / row_bytes, 1, rows),
                       images_at_once = std::max<std::int64_t>(1, kPanelBytes / (row_bytes * rows));
    const std::int64_t grain = 500'000 / (images * c.output_plane() * kTileTaps * kPanel) + 1;
    parallel_for(panels() * tiles(), grain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t first = 0; first < images; first += images_at_once)
        for (std::int64_t row = 0; row < rows; row += rows_at_once)
          for (std::int64_t n = begin; n < end; ++n)
            for (std::int64_t i = first; i < std::min(first + images_at_once, images); ++i) {
              const std::int64_t panel = n / tiles(), k = n % tiles() * kTileTaps, maps = panel_width(panel);
              const T* const dy =
                  turned + i * packed + panel * kPanel * c.output_plane() + row * width * maps;
              const Stripe<T> stripe{copies + i * copied + row * source.pitch, dy,
                                     std::min(rows_at_once, rows - row), width, source.pitch};
              multiply_stripe<T>(std::min<std::int64_t>(kTileTaps, c.depth() - k), maps / kL, stripe,
                                 source.offset.data() + k, goes_on || i + row > 0,
                                 sums + panel * kPanel * c.depth() + k * maps);
            }
    });
  }

  void finish(const T* sums, T* dw) const {
    parallel_for(panels(), kElementwiseGrain / (kPanel * c.depth()) + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t panel = begin; panel < end; ++panel) {
                     const std::int64_t at = panel * kPanel * c.depth();
                     gemm_tile::used_tile<T>().pack(sums + at, panel_width(panel), c.depth(),
                                                    panel_maps(panel), c.depth(), dw + at);
                   }
                 });
  }
};

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cpu_floats(p, target); !v.ok) return v;
  if (p.op != "conv2d_grad_weight") return refuse("for weight gradients");
  const Conv2d c = parse_conv2d(p);
  constexpr std::int64_t kFewTerms = 128;  // below it, sums in another order cost more than an unrolled image
  if (c.is_pointwise()) return refuse("a matrix product without unrolling");
  if (c.batch * c.output_plane() < kFewTerms) return refuse("few pixels for each weight");
  const auto bytes = c.group_maps() * static_cast<std::int64_t>(size_of(p.outputs[0].dtype));
  if (2 * bytes <= target.device.vector_bytes) return refuse("maps leave most lanes of a register idle");
  return accept();
}

std::size_t workspace(const Problem& p, const Target&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    return static_cast<std::size_t>(MapLanes<T>(parse_conv2d(p)).elements()) * sizeof(T);
  });
}

// The image's copy and dy in its new order are written and read once more.
Work work(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, target);
  work.with("cpu.gemm", ordinary_unit(p.outputs[0].dtype), {c.group_maps(), c.depth(), c.output_plane()});
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    const MapLanes<T> kernel(c);
    return work.add_bytes(2.0 * double(c.batch * c.groups * (kernel.copied + kernel.packed)) * sizeof(T));
  });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [kernel = MapLanes<T>(parse_conv2d(p))](const LaunchArgs& a) {
      kernel.run(a.in<T>(0), a.in<T>(1), a.out<T>(0), static_cast<T*>(a.workspace));
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_map_lanes_cc

Kernel conv2d_cpu_map_lanes() {
  using namespace conv2d_cpu_map_lanes_cc;
  return {
      .name = "cpu:map_lanes", .accepts = accepts, .work = work, .prepare = prepare, .workspace = workspace};
}

}  // namespace headroom

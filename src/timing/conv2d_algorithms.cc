#include "timing/conv2d_algorithms.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.h"
#include "timing/tile_time.h"

namespace headroom {
namespace {

using Kind = Conv2dAlgorithm::Kind;
using Pass = Conv2dCall::Pass;

constexpr Tile kImplicitTiles[] = {{128, 32}, {128, 64}, {128, 128}};
constexpr Tile kGemmTiles[] = {{64, 64}, {128, 32}, {32, 128}, {128, 64}, {128, 128}};
constexpr std::span<const Tile> kWinogradTiles = std::span(kGemmTiles).first(4);
constexpr Tile kFftTiles[] = {{32, 32}, {64, 64}};
constexpr double kResidentOutputs = 2048;  // of the small blocks that a multiprocessor runs at a time

double blocks_of(double size, double tile) { return std::ceil(size / tile); }

// `batch` products of an m x k by a k x n matrix.
struct Product {
  double m, n, k, batch;
  double bytes;  // of operands and results
  double transform_bytes = 0;
  double flops_per_step = 2;  // 8: complex numbers
  double bytes_per_element = 4;
};

void add_product(std::vector<Conv2dAlgorithm>& list, Kind kind, const Product& p, std::span<const Tile> tiles,
                 double max_split, bool folded = false) {
  for (const Tile& tile : tiles)
    for (double split = 1; split <= max_split && (split == 1 || p.k / split >= 64); split *= 2) {
      const double k = 8 * std::ceil(p.k / split / 8);
      Conv2dAlgorithm a{.kind = kind, .folded = folded};
      a.tile = fmt::format("{}x{}", tile.m, tile.n);
      if (split > 1) a.tile += fmt::format(", split {}", split);
      a.blocks = blocks_of(p.m, tile.m) * blocks_of(p.n, tile.n) * p.batch * split;
      a.block_flops = p.flops_per_step * tile.m * tile.n * k;
      a.block_loads = (tile.m + tile.n) * k * p.bytes_per_element;
      a.tile_edges = 64.0 / tile.m + 64.0 / tile.n;
      a.steps = k / 8;
      a.bytes = p.bytes;
      a.split_bytes = split == 1 ? 0 : 2 * split * p.batch * p.m * p.n * p.bytes_per_element;
      a.transform_bytes = p.transform_bytes;
      list.push_back(std::move(a));
    }
}

// The call as one product per group: rows, columns and reduction.
Product as_product(const Conv2dCall& c) {
  switch (c.pass) {
    case Pass::kForward:
      return {c.pixels_out(), c.group_cout(), c.group_cin() * c.taps(), c.groups, c.bytes()};
    case Pass::kDataGradient:
      // A pixel of the input was read by one in stride^2 of the taps.
      return {c.pixels_in(), c.group_cin(), std::ceil(c.group_cout() * c.taps() / (c.stride * c.stride)),
              c.groups, c.bytes()};
    case Pass::kWeightGradient:
      return {c.group_cin() * c.taps(), c.group_cout(), c.pixels_out(), c.groups, c.bytes()};
  }
  return {};
}

// A library splits a reduction only if it would leave multiprocessors idle; gradients of weights reduce over
// all pixels and have few outputs.
double max_split(const Conv2dCall& call) { return call.pass == Pass::kWeightGradient ? 256 : 1; }

// A 3x3 convolution of stride 1, as Winograd algorithms take it.
struct Unstrided {
  double batch, out_h, out_w, from, to, groups;  // channels read and written, per group
  double read_bytes, write_bytes, weight_bytes;
  double fold_bytes = 0;
};

void add_fused_winograd(std::vector<Conv2dAlgorithm>& list, const Unstrided& u, bool early) {
  // Images, rows and columns of the 32 tiles of 2x2 outputs that a block computes for 32 channels.
  struct Arrangement {
    double images, rows, columns;
  };
  constexpr Arrangement kArrangements[] = {{1, 4, 8}, {2, 4, 4}, {2, 2, 8}, {4, 2, 4}, {4, 1, 8}, {4, 4, 2}};
  const double transformed = u.weight_bytes * 16 / 9, k = 8 * std::ceil(u.from / 8);
  for (const Arrangement& a : std::span(kArrangements).first(early ? std::size(kArrangements) : 1)) {
    Conv2dAlgorithm w{.kind = Kind::kFusedWinograd, .folded = u.fold_bytes > 0};
    w.tile = fmt::format("{} images of {}x{} pixels, 32 channels", a.images, 2 * a.rows, 2 * a.columns);
    w.blocks = blocks_of(u.batch, a.images) * blocks_of(u.out_h, 2 * a.rows) *
               blocks_of(u.out_w, 2 * a.columns) * blocks_of(u.to, 32) * u.groups;
    w.block_flops = 2.0 * 16 * 32 * 32 * k;
    w.steps = k / 8;
    w.bytes = u.read_bytes + u.write_bytes + 2 * u.weight_bytes + transformed;
    w.block_loads = 2 * 16 * 32 * k * 4;
    w.transform_bytes = u.weight_bytes + transformed + u.fold_bytes;
    list.push_back(std::move(w));
  }
}

void add_unfused_winograd(std::vector<Conv2dAlgorithm>& list, const Unstrided& u, bool weights) {
  const double tiles = std::ceil(u.out_h / 4) * std::ceil(u.out_w / 4) * u.batch;
  const double read = 4 * 36 * tiles * u.from * u.groups, written = 4 * 36 * tiles * u.to * u.groups;
  const double transformed = u.weight_bytes * 36 / 9;
  Product p{tiles, u.to, u.from, 36 * u.groups, read + written + transformed};
  if (weights) p.m = u.from, p.n = u.to, p.k = tiles;
  p.transform_bytes =
      u.read_bytes + u.write_bytes + u.weight_bytes + read + written + transformed + u.fold_bytes;
  add_product(list, Kind::kUnfusedWinograd, p, kWinogradTiles, weights ? 16 : 1, u.fold_bytes > 0);
}

// 3x3 kernels, and strided ones that become 3x3 once each stride x stride block of pixels counts as channels.
void add_winograd(std::vector<Conv2dAlgorithm>& list, const Conv2dCall& c, bool early) {
  const auto is_three = [&](double kernel) { return std::ceil(kernel / c.stride) == 3; };
  if (c.dilation != 1 || !is_three(c.kernel_h) || !is_three(c.kernel_w) || c.is_depthwise()) return;
  const double fold = c.stride * c.stride, fold_bytes = c.stride == 1 ? 0 : 2 * c.image_bytes();
  const double weight_bytes = 4 * 9 * c.group_cin() * fold * c.cout;
  Unstrided u{c.batch,  c.out_h,         c.out_w,          c.group_cin() * fold, c.group_cout(),
              c.groups, c.image_bytes(), c.output_bytes(), weight_bytes,         fold_bytes};
  if (c.pass == Pass::kDataGradient) {
    std::swap(u.from, u.to), std::swap(u.read_bytes, u.write_bytes);
    if (c.stride == 1) u.out_h = c.height, u.out_w = c.width;
  }
  if (c.pass != Pass::kWeightGradient) add_fused_winograd(list, u, early);
  add_unfused_winograd(list, u, c.pass == Pass::kWeightGradient);
}

// Products of spectra, in tiles of the image that overlap by the kernel.
void add_fft(std::vector<Conv2dAlgorithm>& list, const Conv2dCall& c) {
  if (c.stride != 1 || c.dilation != 1 || c.taps() == 1 || c.groups != 1) return;
  for (const double edge : {16.0, 32.0}) {
    const double step_h = edge + 1 - c.kernel_h, step_w = edge + 1 - c.kernel_w;
    if (step_h < 1 || step_w < 1) continue;
    const double tiles = c.batch * std::ceil(c.out_h / step_h) * std::ceil(c.out_w / step_w);
    const double frequencies = edge * (edge / 2 + 1);  // of real numbers, which mirror each other
    const double spectra = 8 * frequencies * (tiles * c.cin + tiles * c.cout + c.cin * c.cout);
    Product p{tiles, c.cout, c.cin, frequencies, spectra, c.bytes() + spectra, 8, 8};
    if (c.pass == Pass::kDataGradient) std::swap(p.n, p.k);
    if (c.pass == Pass::kWeightGradient) p.m = c.cin, p.k = tiles;
    add_product(list, Kind::kFft, p, kFftTiles, 1);
  }
}

// One thread per output, without tiles in shared memory. The blocks are small: what a multiprocessor runs at
// a time counts as one.
void add_untiled(std::vector<Conv2dAlgorithm>& list, const Conv2dCall& c) {
  const Product p = as_product(c);
  Conv2dAlgorithm a{.kind = c.is_depthwise() ? Kind::kDepthwise : Kind::kDirect,
                    .tile = "a thread per output"};
  double outputs = p.m * p.n * p.batch, k = p.k;
  if (c.pass == Pass::kWeightGradient) {
    const double pieces = std::ceil(k / 1024);
    outputs *= pieces, k = std::ceil(k / pieces);
  }
  a.blocks = blocks_of(outputs, kResidentOutputs);
  a.block_flops = 2 * kResidentOutputs * k;
  a.steps = k / 8;
  a.bytes = c.bytes();
  a.block_loads = a.bytes / a.blocks;  // caches serve the rest
  list.push_back(std::move(a));
}

}  // namespace

const char* algorithm_name(Kind kind) {
  switch (kind) {
    case Kind::kImplicitGemm:
      return "implicit GEMM";
    case Kind::kGemm:
      return "GEMM";
    case Kind::kFusedWinograd:
      return "fused Winograd 2x2";
    case Kind::kUnfusedWinograd:
      return "unfused Winograd 4x4";
    case Kind::kFft:
      return "FFT";
    case Kind::kDirect:
      return "direct";
    case Kind::kDepthwise:
      return "depthwise";
  }
  return "";
}

std::vector<Conv2dAlgorithm> conv2d_algorithms(const Conv2dCall& call, bool early) {
  std::vector<Conv2dAlgorithm> list;
  const Product product = as_product(call);
  const bool plain_product = call.taps() == 1 && call.pad == 0;
  if (!plain_product || call.stride > 1)
    add_product(list, Kind::kImplicitGemm, product, kImplicitTiles, max_split(call));
  if (plain_product) {
    Product plain = product;
    // A stride skips pixels: they are gathered, or spread, by a copy of their own.
    if (call.stride > 1) plain.transform_bytes = 2 * 4 * call.pixels_out() * call.cin;
    add_product(list, Kind::kGemm, plain, kGemmTiles, max_split(call));
  }
  add_winograd(list, call, early);
  add_fft(list, call);
  add_untiled(list, call);
  return list;
}

}  // namespace headroom

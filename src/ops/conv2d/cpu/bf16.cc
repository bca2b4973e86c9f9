// "cpu:bf16" and "cpu:bf16x6" (ops/cpu/bf16_kernel.h): convolutions as products by the matrix instructions of
// the processor. One product over all images: pieces of the unrolled matrix are made where panels are packed.
#include "ops/conv2d/cpu/bf16_rows.h"
#include "ops/conv2d/cpu/pixel_lanes.h"
#include "ops/cpu/bf16_kernel.h"

namespace headroom {
namespace conv2d_cpu_bf16_cc {
namespace {

Verdict is_a_product(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  if (c.groups != 1) return refuse("grouped");
  if (c.pools()) return refuse("does not pool");
  return accept();
}

ProductExtent extent_of(const Problem& p, const Target&) {
  const Conv2d c = parse_conv2d(p);
  if (p.op == "conv2d_grad_input") return {c.channels, c.batch * c.input_plane(), c.maps * c.taps()};
  if (p.op == "conv2d_grad_weight") return {c.maps, c.depth(), c.batch * c.output_plane()};
  return {c.maps, c.batch * c.output_plane(), c.depth()};
}

// What happens to a piece of a map, as in pixel_lanes.cc.
struct FinishMaps {
  pixels::Finish<float> finish;
  Activation activation;
  const float* out;

  void operator()(std::int64_t map, std::int64_t count, float* c) const {
    const float scale = finish.scale != nullptr ? finish.scale[map] : 1.0F, start = finish.start[map];
    for (std::int64_t i = 0; i < count; ++i) c[i] = c[i] * scale + start;
    if (finish.residual != nullptr) {
      const float* more = finish.residual + (c - out);
      for (std::int64_t i = 0; i < count; ++i) c[i] += more[i];
    }
    const float low = finish.low, high = finish.high;
    for (std::int64_t i = 0; i < count; ++i) c[i] = c[i] < low ? low : c[i] > high ? high : c[i];
    if (activation != Activation::none && activation != Activation::relu)
      apply_activation(activation, count, c, c);
  }
};

Bf16Factor matrix(const float* data, std::int64_t row) {
  return {.data = data, .line_step = row, .term_step = 1};
}
Bf16Factor rows_as_lines(const ReadRows& rows) { return {.rows = &rows, .lines_are_rows = true}; }
Bf16Factor rows_as_terms(const ReadRows& rows) { return {.rows = &rows, .lines_are_rows = false}; }

void forward(const bf16::Version& version, const Conv2d& c, Bf16Product product, const LaunchArgs& a) {
  const UnrolledInput unrolled(c, a.in<float>(0));
  float* const y = a.out<float>(0);
  product.a = matrix(a.in<float>(1), c.depth()), product.b = rows_as_terms(unrolled);
  product.to = {.c = y, .ldc = c.output_plane(), .plane = c.output_plane(), .plane_step = c.output_image()};
  const FinishMaps finish{pixels::finish_of<float>(c, a, static_cast<float*>(a.workspace)), c.activation, y};
  bf16_gemm(version, product, [own = &finish](std::int64_t map, std::int64_t, std::int64_t count, float* to) {
    (*own)(map, count, to);
  });
}

void input_gradient(const bf16::Version& version, const Conv2d& c, Bf16Product product, const LaunchArgs& a) {
  const UnrolledGradient unrolled(c, a.in<float>(0));
  const WeightsOfChannels weights(c, a.in<float>(1));
  product.a = rows_as_lines(weights), product.b = rows_as_terms(unrolled);
  product.to = {
      .c = a.out<float>(0), .ldc = c.input_plane(), .plane = c.input_plane(), .plane_step = c.input_image()};
  bf16_gemm(version, product);
}

void weight_gradient(const bf16::Version& version, const Conv2d& c, Bf16Product product,
                     const LaunchArgs& a) {
  const UnrolledInput unrolled(c, a.in<float>(0));
  const MapsOfImages maps(a.in<float>(1), c.maps, c.output_plane());
  product.a = rows_as_lines(maps), product.b = rows_as_lines(unrolled);
  product.to = {.c = a.out<float>(0), .ldc = c.depth()};
  bf16_gemm(version, product);
}

Launcher prepare(const Problem& p, Bf16Parts parts) {
  const Conv2d c = parse_conv2d(p);
  const ProductExtent extent = extent_of(p, {});
  const auto run = p.op == "conv2d_grad_input"    ? input_gradient
                   : p.op == "conv2d_grad_weight" ? weight_gradient
                                                  : forward;
  return [c, run, extent, &version = bf16_version(parts)](const LaunchArgs& a) {
    run(version, c, {.m = extent.m, .n = extent.n, .k = extent.k, .a = {}, .b = {}, .to = {}}, a);
  };
}

std::size_t workspace(const Problem& p, const Target&) {
  if (p.op == "conv2d_grad_input" || p.op == "conv2d_grad_weight") return 0;
  return static_cast<std::size_t>(pixels::finish_elements(parse_conv2d(p))) * sizeof(float);
}

Kernel kernel(Bf16Parts parts) {
  Kernel k = bf16_kernel(parts, extent_of, prepare);
  k.accepts = [of_type = k.accepts](const Problem& p, const Target& t) {
    const Verdict v = of_type(p, t);
    return v.ok ? is_a_product(p) : v;
  };
  k.workspace = workspace;
  return k;
}

}  // namespace
}  // namespace conv2d_cpu_bf16_cc

Kernel conv2d_cpu_bf16() { return conv2d_cpu_bf16_cc::kernel(Bf16Parts::one); }
Kernel conv2d_cpu_bf16x6() { return conv2d_cpu_bf16_cc::kernel(Bf16Parts::three); }

}  // namespace headroom

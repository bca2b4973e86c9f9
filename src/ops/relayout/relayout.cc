#include "ops/relayout/relayout.h"

#include <cmath>

#include "base/text.h"
#include "ops/expect.h"

namespace headroom {
namespace relayout_cc {
namespace {

Layout layout_of(const Attrs& attrs) {
  const std::string name = attrs.text("layout");
  for (Layout layout : {Layout::nchw, Layout::nhwc})
    if (name == name_of(layout)) return layout;
  reject(nearest(name, std::vector<std::string>{"nchw", "nhwc"}), "relayout: unknown layout '{}'", name);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("relayout", in, 1);
  expect_float("relayout", in[0]);
  expect_rank("relayout", in[0], 4, "NCHW or NHWC");
  const Layout layout = layout_of(attrs);
  if (in[0].layout == layout) reject("relayout: the input already has the layout {}", name_of(layout));
  const std::string name = attrs.text("to", std::string(name_of(in[0].dtype)));
  const auto to = parse_dtype(name);
  if (!to || !is_float(*to))
    reject(Hint{"fp64, fp32, fp16 or bf16"}, "relayout: it cannot convert to the type '{}'", name);
  if (!std::isfinite(attrs.real("scale", 1))) reject("relayout: scale must be a finite number");
  return {{in[0].shape, *to, layout}};
}

template <class From, class To>
Launcher reference_of(const Transposition& t, double scale) {
  return [t, scale = static_cast<From>(scale)](const LaunchArgs& a) {
    for (std::int64_t b = 0; b < t.batch; ++b)
      for (std::int64_t r = 0; r < t.rows; ++r)
        for (std::int64_t c = 0; c < t.columns; ++c)
          a.out<To>(0)[(b * t.columns + c) * t.rows + r] =
              static_cast<To>(a.in<From>(0)[(b * t.rows + r) * t.columns + c] * scale);
  };
}

Launcher reference(const Problem& p, const LaunchContext&) {
  const Transposition t = transposition_of(p);
  const double scale = p.attrs.real("scale", 1);
  return dispatch_float(p.inputs[0].dtype, [&]<class From>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class To>() { return reference_of<From, To>(t, scale); });
  });
}

Verdict accepts_cuda(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const DType from = p.inputs[0].dtype, to = p.outputs[0].dtype;
  if (from == to && p.attrs.real("scale", 1) == 1) return accept();
  if ((from == DType::f32 && is_16bit(to)) || (is_16bit(from) && to == DType::f32)) return accept();
  return refuse("converts only between fp32 and 16-bit types");
}

// Long and short axes, tiles that hang over, planes of filters, images of few channels.
std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Tier tier, const Shape& shape, const char* to = nullptr) {
    for (Layout layout : {Layout::nhwc, Layout::nchw}) {
      Case c{.tier = tier, .inputs = {shape}, .attrs = {{"layout", std::string(name_of(layout))}}};
      c.layouts = {layout == Layout::nhwc ? Layout::nchw : Layout::nhwc};
      if (to != nullptr) c.attrs.set("to", std::string(to));
      list.push_back(std::move(c));
    }
  };
  for (const Shape& shape : std::vector<Shape>{{1, 1, 1, 1},
                                               {2, 3, 5, 7},
                                               {1, 7, 1, 1},
                                               {3, 1, 4, 4},
                                               {2, 33, 3, 3},
                                               {5, 64, 5, 5},
                                               {2, 40, 9, 7},
                                               {1, 65, 6, 11},
                                               {1, 3, 37, 41},
                                               {2, 200, 3, 3}})
    add(Tier::ci, shape);
  for (const char* to : {"fp32", "fp16", "bf16"}) {
    add(Tier::smoke, {2, 3, 19, 23}, to);
    add(Tier::smoke, {3, 70, 3, 3}, to);
    add(Tier::smoke, {2, 48, 8, 9}, to);
  }
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{2, 48, 3, 3}},
                  .attrs = {{"layout", std::string("nchw")}, {"to", std::string("fp32")}, {"scale", 0.25}},
                  .dtypes = {DType::f16},
                  .layouts = {Layout::nhwc}});
  add(Tier::perf, {32, 64, 56, 56});
  add(Tier::perf, {512, 512, 3, 3});
  return list;
}

}  // namespace
}  // namespace relayout_cc

Transposition transposition_of(const Problem& p) {
  const Shape& s = p.inputs[0].shape;
  Transposition t{s[0], s[1], s[2] * s[3]};
  if (p.outputs[0].layout == Layout::nchw) std::swap(t.rows, t.columns);
  return t;
}

std::vector<Operator> relayout_operators() {
  using namespace relayout_cc;
  return {{.schema = {.name = "relayout", .infer = infer, .cost = traffic},
           .kernels = {{.name = "cuda:transpose",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda,
                        .prepare = HEADROOM_CUDA(prepare_relayout_cuda),
                        .layouts = Layouts::any},
                       {.name = "reference", .prepare = reference, .layouts = Layouts::any}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom

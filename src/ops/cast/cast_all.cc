#include <cmath>

#include "ops/cast/cast.h"
#include "ops/expect.h"

namespace headroom {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (in.empty()) reject("cast_all needs at least one input");
  expect_not_empty("cast_all", in);
  const std::string name = attrs.text("to");
  const auto to = parse_dtype(name);
  if (!to || !is_float(*to))
    reject(Hint{"fp64, fp32, fp16 or bf16"}, "cast_all: it cannot convert to the type '{}'", name);
  if (!std::isfinite(attrs.real("scale", 1))) reject("cast_all: scale must be a finite number");
  std::vector<TensorType> out;
  for (const TensorType& type : in) {
    expect_float("cast_all", type);
    if (type.dtype != in[0].dtype)
      reject("cast_all: {} and {} do not mix", name_of(in[0].dtype), name_of(type.dtype));
    out.push_back({type.shape, *to, type.layout});
  }
  return out;
}

Verdict accepts_cuda(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const DType from = p.inputs[0].dtype, to = p.outputs[0].dtype;
  if ((from == DType::f32 && is_16bit(to)) || (is_16bit(from) && to == DType::f32)) return accept();
  return refuse("converts only between fp32 and 16-bit types");
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.inputs[0].dtype, [&]<class From>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class To>() -> Launcher {
      std::vector<std::int64_t> sizes;
      for (const TensorType& type : p.inputs) sizes.push_back(type.shape.numel());
      return [sizes, scale = static_cast<From>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
        for (std::size_t t = 0; t < sizes.size(); ++t)
          for (std::int64_t i = 0; i < sizes[t]; ++i)
            a.out<To>(t)[i] = static_cast<To>(a.in<From>(t)[i] * scale);
      };
    });
  });
}

// One and several tensors, more than a launch takes, lengths that are no whole packs.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* to : {"fp32", "fp16", "bf16"}) {
    list.push_back({.tier = Tier::smoke, .inputs = {{7}}, .attrs = {{"to", std::string(to)}}});
    list.push_back({.tier = Tier::smoke,
                    .inputs = {{64, 3, 3, 3}, {1}, {10007}, {33}, {8}},
                    .attrs = {{"to", std::string(to)}, {"scale", 0.5}}});
    list.push_back({.tier = Tier::smoke,
                    .inputs = std::vector<Shape>(131, Shape{5}),
                    .attrs = {{"to", std::string(to)}}});
  }
  return list;
}

}  // namespace

Operator cast_all_operator() {
  return {.schema = {.name = "cast_all", .infer = infer, .cost = traffic},
          .kernels = {{.name = "cuda:table",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda,
                       .prepare = HEADROOM_CUDA(prepare_cast_all_cuda),
                       .layouts = Layouts::any},
                      {.name = "reference", .prepare = reference}},
          .cases = cases(),
          .exact = true};
}

}  // namespace headroom

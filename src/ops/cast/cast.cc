#include "ops/cast/cast.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/half.h"
#include "graph/graph.h"
#include "ops/cast/convert.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"

namespace headroom {
namespace {

// What the CPU converts; a GPU has 16-bit floats as well.
constexpr std::array kTypes = {DType::f64, DType::f32, DType::i64, DType::i32, DType::u8, DType::boolean};

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("cast", in, 1);
  const std::string name = attrs.text("to");
  const std::optional<DType> to = parse_dtype(name);
  if (!to)
    reject(Hint{"fp64, fp32, fp16, bf16, int64, int32, uint8 or bool"}, "cast: unknown element type '{}'",
           name);
  for (const char* factor : {"scale", "gradient_scale"})
    if (attrs.has(factor) && (!is_float(in[0].dtype) || !is_float(*to) || !std::isfinite(attrs.real(factor))))
      reject("cast: {} must be a finite number, and both types floating point", factor);
  if (attrs.has("through")) {
    const std::optional<DType> through = parse_dtype(attrs.text("through"));
    if (!through || !is_16bit(*through) || !is_float(*to))
      reject(Hint{"fp16 or bf16, on the way to a float"}, "cast through '{}' to {}", attrs.text("through"),
             name);
  }
  return {{in[0].shape, *to, in[0].layout}};
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const DType from = c.graph.value(c.input(0)).type.dtype, to = c.graph.value(c.output(0)).type.dtype;
  if (!is_float(from) || !is_float(to)) return {kNone};
  Attrs attrs{{"to", std::string(name_of(from))}};
  if (const double scale = c.attrs().real("scale", 1) * c.attrs().real("gradient_scale", 1); scale != 1)
    attrs.set("scale", scale);
  return {c.emit("cast", {c.output_gradients[0]}, attrs)};
}

Verdict accepts(const Problem& p, const Target&) {
  for (const TensorType& type : {p.inputs[0], p.outputs[0]})
    if (std::find(kTypes.begin(), kTypes.end(), type.dtype) == kTypes.end())
      return refuse(fmt::format("no {} arithmetic on the CPU", name_of(type.dtype)));
  return accept();
}

// One C++ type for each element type: bool differs from uint8 in what is stored, not in how it is read.
template <class F>
Launcher dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    default:
      fail("cast does not take {}", name_of(dtype));
  }
}

template <class From, class To>
Launcher convert_through(std::int64_t n, From scale, DType through) {
  return [=](const LaunchArgs& a) {
    const From* x = a.in<From>(0);
    To* y = a.out<To>(0);
    parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = static_cast<To>(half_value(through, half_bits(through, static_cast<double>(x[i] * scale))));
    });
  };
}

template <class From, class To>
inline To scaled(From x, From scale) {
  if constexpr (std::is_floating_point_v<From>) return convert<From, To>(x * scale);
  return convert<From, To>(x);
}

template <bool in_parallel>
Launcher convert_all(const Problem& p, const LaunchContext&) {
  const std::int64_t n = p.inputs[0].shape.numel();
  return dispatch(p.inputs[0].dtype, [&]<class From>() {
    return dispatch(p.outputs[0].dtype, [&]<class To>() -> Launcher {
      if constexpr (std::is_floating_point_v<To>)
        if (p.attrs.has("through"))
          return convert_through<From, To>(n, static_cast<From>(p.attrs.real("scale", 1)),
                                           *parse_dtype(p.attrs.text("through")));
      return [n, scale = static_cast<From>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
        const From* x = a.in<From>(0);
        To* y = a.out<To>(0);
        if (!in_parallel)
          for (std::int64_t i = 0; i < n; ++i) y[i] = scaled<From, To>(x[i], scale);
        else
          parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
#pragma omp simd
            for (std::int64_t i = begin; i < end; ++i) y[i] = scaled<From, To>(x[i], scale);
          });
      };
    });
  });
}

std::vector<Case> cases() {
  std::vector<Case> list;
  // Gradients are checked by differences in fp64, so only that way round is exact enough for them.
  for (const Shape& shape : std::vector<Shape>{{1}, {7}, {3, 5, 11}})
    list.push_back({.tier = Tier::ci, .inputs = {shape}, .attrs = {{"to", std::string("fp64")}}});
  list.push_back(
      {.tier = Tier::ci, .inputs = {{37}}, .attrs = {{"to", std::string("fp64")}, {"scale", 0.25}}});
  list.push_back({.tier = Tier::smoke,
                  .inputs = {{133}},
                  .attrs = {{"to", std::string("fp16")}, {"scale", 4096.0}},
                  .dtypes = {DType::f32}});
  for (const char* through : {"fp16", "bf16"})
    for (DType from : {DType::f64, DType::f32, DType::i64})
      for (const char* to : {"fp64", "fp32"})
        list.push_back({.tier = Tier::smoke,
                        .inputs = {{133}},
                        .attrs = {{"to", std::string(to)}, {"through", std::string(through)}},
                        .fills = {is_float(from) ? Fill{} : Fill{Fill::Kind::label, 3000.0}},
                        .dtypes = {from}});
  std::vector<DType> types(kTypes.begin(), kTypes.end());
  types.insert(types.end(), {DType::f16, DType::bf16});
  for (DType from : types)
    for (DType to : types) {
      const Fill fill =
          is_float(from) ? Fill{} : Fill{Fill::Kind::label, from == DType::boolean ? 2.0 : 200.0};
      for (Tier tier : {Tier::smoke, Tier::perf}) {
        if (tier == Tier::perf && (is_16bit(from) || is_16bit(to))) continue;  // timed on the CPU too
        list.push_back({.tier = tier,
                        .inputs = {{tier == Tier::smoke ? 133 : 262144}},
                        .attrs = {{"to", std::string(name_of(to))}},
                        .fills = {fill},
                        .dtypes = {from}});
      }
    }
  list.push_back({.tier = Tier::perf, .inputs = {{4194304}}, .attrs = {{"to", std::string("fp64")}}});
  return list;
}

}  // namespace

std::vector<Operator> cast_operators() {
  return {
      {.schema = {.name = "cast", .infer = infer, .cost = traffic, .gradient = gradient, .elementwise = 1},
       .kernels = {{.name = "cuda:map",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .prepare = HEADROOM_CUDA(prepare_cast_cuda),
                    .layouts = Layouts::elementwise},
                   {.name = "cpu:vector", .accepts = accepts, .prepare = convert_all<true>},
                   {.name = "reference", .accepts = accepts, .prepare = convert_all<false>}},
       .cases = cases(),
       .exact = true},
      cast_all_operator()};
}

}  // namespace headroom

#include <cmath>

#include "graph/graph.h"
#include "ops/cast/cast.h"
#include "ops/expect.h"

namespace headroom {
namespace cast_schema_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("cast", in, 1);
  const std::string name = attrs.text("to");
  const std::optional<DType> to = parse_dtype(name);
  if (!to)
    reject(Hint{"fp64, fp32, fp16, bf16, int64, int32, uint8, int8 or bool"},
           "cast: unknown element type '{}'", name);
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

std::vector<TensorType> infer_all(const std::vector<TensorType>& in, const Attrs& attrs) {
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

}  // namespace
}  // namespace cast_schema_cc

OpSchema cast_schema() {
  using namespace cast_schema_cc;
  return {.name = "cast", .infer = infer, .cost = traffic, .gradient = gradient, .elementwise = 1};
}
OpSchema cast_all_schema() {
  using namespace cast_schema_cc;
  return {.name = "cast_all", .infer = infer_all, .cost = traffic};
}

}  // namespace headroom

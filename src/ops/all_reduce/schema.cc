#include "base/error.h"
#include "comm/groups.h"
#include "graph/graph.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/expect.h"

namespace headroom {
namespace all_reduce_schema_cc {
namespace {

void expect_group(std::string_view op, const Attrs& attrs) {
  const std::string group = attrs.text("group");
  if (group != kDataGroup && group != kModelGroup) reject("{}: there is no group '{}'", op, group);
}

void expect_alike(std::string_view op, const std::vector<TensorType>& in) {
  expect_not_empty(op, in);
  for (const TensorType& type : in) {
    expect_float(op, type);
    if (type.dtype != in[0].dtype) reject("{} of {} and {}", op, name_of(in[0].dtype), name_of(type.dtype));
  }
}

std::vector<TensorType> infer_same(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("all_reduce", in, 1);
  expect_alike("all_reduce", in);
  expect_group("all_reduce", attrs);
  return in;
}

std::vector<TensorType> infer_start(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_alike("all_reduce_start", in);
  expect_group("all_reduce_start", attrs);
  if (in.size() == 1 && attrs.integer("packed") == 0) return in;
  return {{{elements_of(in)}, in[0].dtype}};
}

std::vector<TensorType> infer_finish(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_alike("all_reduce_finish", in);
  expect_group("all_reduce_finish", attrs);
  if (in.size() == 1) return in;
  std::vector<TensorType> parts(in.begin() + 1, in.end());
  if (elements_of(parts) != in[0].shape.numel())
    reject("all_reduce_finish: {} elements for {}", in[0].shape.numel(), elements_of(parts));
  return parts;
}

std::vector<TensorType> infer_product(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("matmul_reduce", in, 2);
  expect_alike("matmul_reduce", in);
  expect_group("matmul_reduce", attrs);
  const Shape &a = in[0].shape, &b = in[1].shape;
  if (a.rank() != 2 || b.rank() != 2 || a[0] != b[0]) reject("matmul_reduce of {} and {}", a.str(), b.str());
  if (const auto pieces = attrs.integer("pieces", 1); pieces < 1 || pieces > a[1])
    reject("matmul_reduce: {} bands of {} rows", pieces, a[1]);
  return {{{a[1], b[1]}, in[0].dtype}};
}

Cost product_cost(const Problem& p) {
  Cost c = traffic(p);
  c.multiply_add = 2.0 * double(p.inputs[0].shape.numel()) * double(p.inputs[1].shape[1]);
  return c;
}

std::vector<TensorType> infer_part(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("part_of", in, 1);
  const std::int64_t first = attrs.integer("first"), count = attrs.integer("count");
  if (first < 0 || count < 1 || first + count > in[0].shape.numel())
    reject("part_of: elements {} to {} of {}", first, first + count, in[0].shape.str());
  return {{{count}, in[0].dtype}};
}

std::vector<TensorType> infer_gather(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("all_gather", in, 1);
  expect_alike("all_gather", in);
  expect_group("all_gather", attrs);
  const std::int64_t first = attrs.integer("first");
  if (first < 0 || first + in[0].shape.numel() > attrs.integer("whole"))
    reject("all_gather: {} elements from {} on, of {}", in[0].shape.numel(), first, attrs.integer("whole"));
  return in;
}

std::vector<int> first_in_place(const Problem& p) {
  return p.inputs.size() == 1 && p.attrs.integer("packed") == 0 ? std::vector<int>{0} : std::vector<int>{};
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  if (c.attrs().text("backward") != "sum") return {dy};
  return {c.emit("all_reduce", {dy}, {{"group", c.attrs().text("group")}, {"backward", std::string("sum")}})};
}

std::vector<ValueId> gradient_enter(const GradientContext& c) {
  return {c.emit("all_reduce", {c.output_gradients[0]}, {{"group", c.attrs().text("group")}})};
}

Cost nothing(const Problem&) { return {}; }

}  // namespace
}  // namespace all_reduce_schema_cc

std::int64_t elements_of(const std::vector<TensorType>& types) {
  using namespace all_reduce_schema_cc;
  std::int64_t n = 0;
  for (const TensorType& type : types) n += type.shape.numel();
  return n;
}

Exchange exchange_of(const Problem& p) {
  using namespace all_reduce_schema_cc;
  const bool product = p.op == "matmul_reduce";
  if (p.op == "all_gather")
    return {p.attrs.text("group"),
            p.attrs.integer("whole") * static_cast<std::int64_t>(size_of(p.inputs[0].dtype)), 1};
  if (!product && p.op != "all_reduce" && p.op != "all_reduce_start") return {};
  return {p.attrs.text("group"), p.outputs[0].bytes(), product ? p.attrs.integer("pieces", 1) : 1};
}

Exchange awaited_of(const Problem& p) {
  using namespace all_reduce_schema_cc;
  if (p.op == "all_reduce_finish") return {p.attrs.text("group"), p.inputs[0].bytes(), 1};
  return p.op == "all_reduce" || p.op == "all_gather" ? exchange_of(p) : Exchange{};
}

OpSchema all_reduce_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "all_reduce",
          .infer = infer_same,
          .cost = traffic,
          .gradient = gradient,
          .aliases = first_in_place,
          .collective = true};
}

OpSchema all_reduce_start_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "all_reduce_start",
          .infer = infer_start,
          .cost = traffic,
          .aliases = first_in_place,
          .collective = true};
}

OpSchema all_reduce_finish_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "all_reduce_finish", .infer = infer_finish, .cost = traffic, .aliases = first_in_place};
}

OpSchema matmul_reduce_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "matmul_reduce", .infer = infer_product, .cost = product_cost, .collective = true};
}

OpSchema part_of_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "part_of",
          .infer = infer_part,
          .cost = nothing,
          .is_view = true,
          .view_offset = [](const Problem& p) { return p.attrs.integer("first"); }};
}

OpSchema all_gather_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "all_gather",
          .infer = infer_gather,
          .cost = traffic,
          .aliases = first_in_place,
          .collective = true};
}

OpSchema enter_split_schema() {
  using namespace all_reduce_schema_cc;
  return {.name = "enter_split",
          .infer = infer_same,
          .cost = nothing,
          .gradient = gradient_enter,
          .is_view = true};
}

}  // namespace headroom

#include "ops/compare/compare.h"

#include "ops/broadcast.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {

Comparison comparison_of(std::string_view op) {
  using enum Comparison;
  if (op == "equal") return equal;
  if (op == "less") return less;
  if (op == "less_or_equal") return less_or_equal;
  if (op == "greater") return greater;
  if (op == "greater_or_equal") return greater_or_equal;
  if (op == "logical_and") return both;
  if (op == "logical_or") return either;
  return op == "logical_xor" ? one : neither;
}

namespace compare_cc {
namespace {

using Byte = std::uint8_t;

std::vector<TensorType> infer_compare(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("a comparison", in, 2);
  if (in[0].dtype != in[1].dtype)
    reject(Hint{"cast one of them"}, "a comparison: {} and {} do not mix", name_of(in[0].dtype),
           name_of(in[1].dtype));
  return {{broadcast_shape("a comparison", in[0].shape, in[1].shape), DType::boolean}};
}

void expect_truth(const TensorType& type) {
  if (type.dtype != DType::boolean && type.dtype != DType::u8)
    reject(Hint{"cast it to bool"}, "a logical operator takes bool or uint8, not {}", name_of(type.dtype));
}

std::vector<TensorType> infer_logical(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("a logical operator", in, 2);
  for (const TensorType& type : in) expect_truth(type);
  return infer_compare(in, attrs);
}

std::vector<TensorType> infer_not(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("logical_not", in, 1);
  expect_truth(in[0]);
  return {{in[0].shape, DType::boolean}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

template <class T>
bool holds(Comparison how, T a, T b) {
  switch (how) {
    case Comparison::equal:
      return a == b;
    case Comparison::less:
      return a < b;
    case Comparison::less_or_equal:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_or_equal:
      return a >= b;
    case Comparison::both:
      return a != T{0} && b != T{0};
    case Comparison::either:
      return a != T{0} || b != T{0};
    case Comparison::one:
      return (a != T{0}) != (b != T{0});
    case Comparison::neither:
      return a == T{0};
  }
  return false;
}

// logical_not has no second operand: it is given the first again.
const Shape& second_shape(const Problem& p) { return p.inputs.back().shape; }
template <class T>
const T* second(const LaunchArgs& a, Comparison how) {
  return a.in<T>(how == Comparison::neither ? 0 : 1);
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [how = comparison_of(p.op), a = p.inputs[0].shape, b = second_shape(p),
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<Byte>(0)[i] = holds(how, args.in<T>(0)[broadcast_index(y, a, i)],
                                     second<T>(args, how)[broadcast_index(y, b, i)]);
    };
  });
}

template <class T, class F>
void compare_row(std::int64_t n, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, Byte* y,
                 F f) {
  if (a_step == 1 && b_step == 1) {
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) y[k] = f(a[k], b[k]);
  } else {
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) y[k] = f(a[k * a_step], b[k * b_step]);
  }
}

// The comparison is known before the loop, so that the loop has no branch.
template <class T, class Body>
void with_function(Comparison how, Body&& body) {
  switch (how) {
    case Comparison::equal:
      return body([](T a, T b) { return Byte(a == b); });
    case Comparison::less:
      return body([](T a, T b) { return Byte(a < b); });
    case Comparison::less_or_equal:
      return body([](T a, T b) { return Byte(a <= b); });
    case Comparison::greater:
      return body([](T a, T b) { return Byte(a > b); });
    case Comparison::greater_or_equal:
      return body([](T a, T b) { return Byte(a >= b); });
    default:
      return body([how](T a, T b) { return Byte(holds(how, a, b)); });
  }
}

Launcher rows(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [how = comparison_of(p.op),
            loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape, second_shape(p)})](
               const LaunchArgs& args) {
      const T *a = args.in<T>(0), *b = second<T>(args, how);
      Byte* y = args.out<Byte>(0);
      const BroadcastLoop::Offsets step = loop.inner_step();
      with_function<T>(how, [&](auto f) {
        parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
          loop.each_row(begin, end,
                        [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
                          compare_row(n, a + offset[0], step[0], b + offset[1], step[1], y + at, f);
                        });
        });
      });
    };
  });
}

struct Trial {
  Tier tier;
  Shape a, b;
};

std::vector<Trial> trials() {
  return {{Tier::ci, {1}, {1}},
          {Tier::ci, Shape{}, {7}},
          {Tier::ci, {64, 10}, {64, 10}},
          {Tier::ci, {9, 65}, {9, 1}},
          {Tier::ci, {2, 3, 5, 7}, {3, 1, 1}},
          {Tier::ci, {5, 1}, {1, 4}},
          {Tier::smoke, {40000}, {40000}},
          {Tier::smoke, {300, 129}, {129}},
          {Tier::perf, {4194304}, {4194304}},
          {Tier::perf, {262144}, {1}}};
}

// Few different numbers, so that equal ones meet; each element type in turn.
std::vector<Case> comparisons() {
  const std::optional<DType> types[] = {std::nullopt, DType::i64, DType::i32, std::nullopt, DType::u8};
  const Fill digits{Fill::Kind::digit, 3};
  std::vector<Case> cases;
  std::size_t next = 0;
  for (const Trial& t : trials())
    for (int twice = 0; twice < 2; ++twice, ++next)
      cases.push_back({.tier = t.tier,
                       .inputs = {t.a, t.b},
                       .fills = {digits, digits},
                       .dtypes = {types[next % 5], types[next % 5]}});
  return cases;
}

std::vector<Case> truths(bool pair) {
  const Fill coin{Fill::Kind::label, 2};
  std::vector<Case> cases;
  for (const Trial& t : trials()) {
    Case c{.tier = t.tier, .inputs = {t.a}, .fills = {coin}, .dtypes = {DType::boolean}};
    if (pair) c.inputs.push_back(t.b), c.fills.push_back(coin), c.dtypes.push_back(DType::boolean);
    cases.push_back(c);
  }
  return cases;
}

}  // namespace
}  // namespace compare_cc

std::vector<Operator> compare_operators() {
  using namespace compare_cc;
  const std::vector<Kernel> kernels = {{.name = "cuda:map",
                                        .device = DeviceKind::cuda,
                                        .accepts = accepts_cuda_floats,
                                        .prepare = HEADROOM_CUDA(prepare_compare_cuda)},
                                       {.name = "cpu:rows", .prepare = rows},
                                       {.name = "reference", .prepare = reference}};
  std::vector<Operator> list;
  const std::pair<const char*, const char*> names[] = {{"equal", "Equal"},
                                                       {"less", "Less"},
                                                       {"less_or_equal", "LessOrEqual"},
                                                       {"greater", "Greater"},
                                                       {"greater_or_equal", "GreaterOrEqual"}};
  for (const auto& [name, onnx] : names)
    list.push_back(
        {.schema = {.name = name, .infer = infer_compare, .cost = cost, .elementwise = 2, .onnx = onnx},
         .kernels = kernels,
         .cases = comparisons(),
         .exact = true});
  for (const std::string name : {"logical_and", "logical_or", "logical_xor"})
    list.push_back({.schema = {.name = name, .infer = infer_logical, .cost = cost, .elementwise = 2},
                    .kernels = kernels,
                    .cases = truths(true),
                    .exact = true});
  list.push_back({.schema = {.name = "logical_not", .infer = infer_not, .cost = cost, .elementwise = 1},
                  .kernels = kernels,
                  .cases = truths(false),
                  .exact = true});
  return list;
}

}  // namespace headroom

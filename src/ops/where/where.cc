#include "ops/where/where.h"

#include "graph/graph.h"
#include "ops/broadcast.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/stored.h"

namespace headroom {
namespace where_cc {
namespace {

using Byte = std::uint8_t;

void expect_condition(std::string_view op, const TensorType& type) {
  if (type.dtype != DType::boolean && type.dtype != DType::u8)
    reject(Hint{"cast it to bool"}, "{}: the condition is bool or uint8, not {}", op, name_of(type.dtype));
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("where", in, 3);
  expect_condition("where", in[0]);
  if (in[1].dtype != in[2].dtype)
    reject(Hint{"cast one of them"}, "where: {} and {} do not mix", name_of(in[1].dtype),
           name_of(in[2].dtype));
  const Shape values = broadcast_shape("where", in[1].shape, in[2].shape);
  return {{broadcast_shape("where", in[0].shape, values), in[1].dtype}};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("where_grad", in, 2);
  expect_condition("where_grad", in[0]);
  expect_float("where_grad", in[1]);
  if (broadcast_shape("where_grad", in[0].shape, in[1].shape) != in[1].shape)
    reject("where_grad: a condition of {} for {}", in[0].shape.str(), in[1].shape.str());
  if (const std::string side = attrs.text("side", "a"); side != "a" && side != "b")
    reject("where_grad: side is '{}', not a or b", side);
  return {in[1]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  const auto side = [&](std::size_t i, const std::string& name) {
    if (!c.needed[i]) return kNone;
    const ValueId picked = c.emit("where_grad", {c.input(0), c.output_gradients[0]}, {{"side", name}});
    return sum_to(c, picked, c.graph.value(c.input(i)).type.shape);
  };
  const ValueId da = side(1, "a");
  return {kNone, da, side(2, "b")};
}

Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [c = p.inputs[0].shape, a = p.inputs[1].shape, b = p.inputs[2].shape,
            y = p.outputs[0].shape](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<T>(0)[i] = args.in<Byte>(0)[broadcast_index(y, c, i)]
                                ? args.in<T>(1)[broadcast_index(y, a, i)]
                                : args.in<T>(2)[broadcast_index(y, b, i)];
    };
  });
}

Launcher reference_grad(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [c = p.inputs[0].shape, y = p.outputs[0].shape,
            first = p.attrs.text("side", "a") == "a"](const LaunchArgs& args) {
      for (std::int64_t i = 0; i < y.numel(); ++i)
        args.out<T>(0)[i] =
            (args.in<Byte>(0)[broadcast_index(y, c, i)] != 0) == first ? args.in<T>(1)[i] : T{0};
    };
  });
}

// A row in which some operands may stand still. The usual case, where all three move, is a loop without
// multiplications by a step.
template <class T>
void pick_row(std::int64_t n, const Byte* c, std::int64_t c_step, const T* a, std::int64_t a_step, const T* b,
              std::int64_t b_step, T* y) {
  if (c_step == 0) {
    const T* from = *c ? a : b;
    const std::int64_t step = *c ? a_step : b_step;
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) y[k] = from[k * step];
  } else if (a_step == 1 && b_step == 1) {
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) {
      const T yes = a[k], no = b[k];
      y[k] = c[k] ? yes : no;
    }
  } else if (a_step == 0) {
    const T yes = *a;
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) {
      const T no = b[k * b_step];
      y[k] = c[k] ? yes : no;
    }
  } else {
    const T no = *b;
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) {
      const T yes = a[k];
      y[k] = c[k] ? yes : no;
    }
  }
}

template <class T>
void pick(const BroadcastLoop& loop, const Byte* c, const T* a, const T* b, T* y) {
  const BroadcastLoop::Offsets step = loop.inner_step();
  parallel_for(loop.numel(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    loop.each_row(begin, end, [&](std::int64_t at, std::int64_t n, const BroadcastLoop::Offsets& offset) {
      pick_row(n, c + offset[0], step[0], a + offset[1], step[1], b + offset[2], step[2], y + at);
    });
  });
}

Launcher rows(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [loop = broadcast_loop(p.outputs[0].shape, {p.inputs[0].shape, p.inputs[1].shape,
                                                       p.inputs[2].shape})](const LaunchArgs& args) {
      pick(loop, args.in<Byte>(0), args.in<T>(1), args.in<T>(2), args.out<T>(0));
    };
  });
}

Launcher rows_grad(const Problem& p, const LaunchContext&) {
  const bool first = p.attrs.text("side", "a") == "a";
  const Shape one{1}, shape = p.outputs[0].shape;
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [loop = broadcast_loop(shape, {p.inputs[0].shape, first ? shape : one, first ? one : shape}),
            first](const LaunchArgs& args) {
      const T zero = 0, *dy = args.in<T>(1);
      pick(loop, args.in<Byte>(0), first ? dy : &zero, first ? &zero : dy, args.out<T>(0));
    };
  });
}

struct Trial {
  Tier tier;
  Shape c, a, b;
};

std::vector<Trial> trials() {
  return {{Tier::ci, {1}, {1}, {1}},
          {Tier::ci, {7}, {7}, {7}},
          {Tier::ci, {64, 10}, {64, 10}, {64, 10}},
          {Tier::ci, {9}, {1}, {9}},
          {Tier::ci, {9}, {9}, {1}},
          {Tier::ci, {9}, {1}, Shape{}},
          {Tier::ci, {5, 1}, {5, 37}, {37}},
          {Tier::ci, {1, 37}, {5, 1}, {5, 37}},
          {Tier::ci, {3, 1, 7}, {4, 1}, {3, 4, 7}},
          {Tier::smoke, {40000}, {40000}, {40000}},
          {Tier::perf, {4194304}, {4194304}, {4194304}},
          {Tier::perf, {262144}, {262144}, {262144}},
          {Tier::perf, {262144}, {262144}, {1}}};
}

}  // namespace
}  // namespace where_cc

std::vector<Operator> where_operators() {
  using namespace where_cc;
  std::vector<Case> forward, backward;
  const Fill coin{Fill::Kind::label, 2};
  for (const Trial& t : trials()) {
    const DType condition = t.a.rank() == 2 ? DType::u8 : DType::boolean;
    forward.push_back({.tier = t.tier, .inputs = {t.c, t.a, t.b}, .fills = {coin}, .dtypes = {condition}});
    const Shape y = broadcast_shape("where", t.c, broadcast_shape("where", t.a, t.b));
    for (const std::string side : {"a", "b"})
      backward.push_back({.tier = t.tier,
                          .inputs = {t.c, y},
                          .attrs = {{"side", side}},
                          .fills = {coin},
                          .dtypes = {condition}});
  }
  for (DType dtype : {DType::i64, DType::i32, DType::u8})
    forward.push_back({.tier = Tier::smoke,
                       .inputs = {{5, 1}, {5, 37}, {37}},
                       .fills = {coin, {Fill::Kind::digit, 9}, {Fill::Kind::digit, 9}},
                       .dtypes = {DType::boolean, dtype, dtype}});
  return {{.schema = {.name = "where", .infer = infer, .cost = cost, .gradient = gradient},
           .kernels = {{.name = "cuda:map",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_where_cuda)},
                       {.name = "cpu:rows", .prepare = rows},
                       {.name = "reference", .prepare = reference}},
           .cases = forward,
           .exact = true},
          {.schema = {.name = "where_grad", .infer = infer_grad, .cost = cost},
           .kernels = {{.name = "cuda:map",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_where_grad_cuda)},
                       {.name = "cpu:rows", .prepare = rows_grad},
                       {.name = "reference", .prepare = reference_grad}},
           .cases = backward,
           .exact = true}};
}

}  // namespace headroom

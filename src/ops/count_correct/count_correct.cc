#include "ops/count_correct/count_correct.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"

namespace headroom {
namespace count_correct_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("count_correct", in, 2);
  expect_labels("count_correct", in[0], in[1]);
  return {{{1}, in[0].dtype}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

template <class T>
std::int64_t predicted(std::int64_t classes, const T* row) {
  if (std::any_of(row, row + classes, [](T v) { return std::isnan(v); })) return -1;
  return std::max_element(row, row + classes) - row;
}

// The label is the first maximum when all before it are less and none after it is more: two loops without the
// unpredictable branch of a search. Every comparison with NaN is false.
template <class T>
bool is_first_maximum(std::int64_t classes, const T* row, std::int64_t label) {
  if (label < 0 || label >= classes) return false;
  const T most = row[label];
  int right = most == most;
  for (std::int64_t c = 0; c < label; ++c) right &= row[c] < most;
  for (std::int64_t c = label + 1; c < classes; ++c) right &= row[c] <= most;
  return right != 0;
}

// Makes the launcher that runs body.operator()<T, Label>(rows, classes, args).
template <class Body>
Launcher typed(const Problem& p, Body body) {
  const std::int64_t rows = p.inputs[0].shape[0], classes = p.inputs[0].shape[1];
  return dispatch_float(p.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(p.inputs[1].dtype, [&]<class L>() -> Launcher {
      return [=](const LaunchArgs& a) { body.template operator()<T, L>(rows, classes, a); };
    });
  });
}

}  // namespace
}  // namespace count_correct_cc

Launcher count_correct_reference(const Problem& p, const LaunchContext&) {
  using namespace count_correct_cc;
  return typed(p, []<class T, class L>(std::int64_t rows, std::int64_t classes, const LaunchArgs& a) {
    std::int64_t correct = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t best = predicted(classes, a.in<T>(0) + r * classes);
      correct += best >= 0 && best == a.in<L>(1)[r];
    }
    *a.out<T>(0) = static_cast<T>(correct);
  });
}

Launcher count_correct_by_label(const Problem& p, const LaunchContext&) {
  using namespace count_correct_cc;
  return typed(p, []<class T, class L>(std::int64_t rows, std::int64_t classes, const LaunchArgs& a) {
    std::atomic<std::int64_t> correct = 0;
    parallel_for(rows, kElementwiseGrain / classes + 1, [&](std::int64_t begin, std::int64_t end, int) {
      std::int64_t mine = 0;
      for (std::int64_t r = begin; r < end; ++r)
        mine += is_first_maximum<T>(classes, a.in<T>(0) + r * classes, a.in<L>(1)[r]);
      correct += mine;
    });
    *a.out<T>(0) = static_cast<T>(correct.load());
  });
}

std::vector<Operator> count_correct_operators() {
  using namespace count_correct_cc;
  std::vector<Case> cases;
  auto add = [&](std::int64_t rows, std::int64_t classes, std::optional<DType> label_type) {
    cases.push_back({.tier = Tier::ci,
                     .inputs = {{rows, classes}, {rows}},
                     .fills = {{}, {Fill::Kind::label, static_cast<double>(classes)}},
                     .dtypes = {std::nullopt, label_type}});
  };
  add(1, 1, {});
  add(17, 3, {});
  add(64, 10, DType::i64);
  add(7, 1000, {});
  add(5000, 10, {});
  add(70, 33, {});
  add(3, 5003, {});
  return {{.schema = {.name = "count_correct", .infer = infer, .cost = cost},
           .kernels = {{.name = "cuda:compare_to_label",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_count_correct_cuda),
                        .shares_counter = true},
                       {.name = "cpu:compare_to_label", .prepare = count_correct_by_label},
                       {.name = "reference", .prepare = count_correct_reference}},
           .cases = cases,
           .exact = true}};
}

}  // namespace headroom

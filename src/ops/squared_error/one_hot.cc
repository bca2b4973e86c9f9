#include <algorithm>
#include <limits>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/squared_error/squared_error.h"

namespace headroom {
namespace squared_error_one_hot_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("one_hot", in, 1);
  expect_rank("one_hot", in[0], 1, "labels of shape [N]");
  if (in[0].dtype != DType::i32 && in[0].dtype != DType::i64)
    reject("one_hot: labels are int32 or int64, not {}", name_of(in[0].dtype));
  const std::int64_t classes = attrs.integer("classes");
  if (classes < 1) reject("one_hot needs 'classes', at least 1, not {}", classes);
  const std::string name = attrs.text("dtype", "fp32");
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype || !is_float(*dtype)) reject(Hint{"fp32 or fp64"}, "one_hot: dtype is '{}'", name);
  return {{{in[0].shape[0], classes}, *dtype}};
}

}  // namespace
}  // namespace squared_error_one_hot_cc

OpSchema one_hot_schema() {
  using namespace squared_error_one_hot_cc;
  return {.name = "one_hot", .infer = infer, .cost = traffic};
}

Launcher one_hot_reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    return dispatch_labels(p.inputs[0].dtype, [&]<class L>() -> Launcher {
      return [rows = p.outputs[0].shape[0], classes = p.outputs[0].shape[1]](const LaunchArgs& a) {
        for (std::int64_t i = 0; i < rows * classes; ++i) {
          const std::int64_t label = a.in<L>(0)[i / classes];
          const bool known = label >= 0 && label < classes;
          a.out<T>(0)[i] = !known ? std::numeric_limits<T>::quiet_NaN() : i % classes == label ? T{1} : T{0};
        }
      };
    });
  });
}

Launcher one_hot_rows(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() {
    return dispatch_labels(p.inputs[0].dtype, [&]<class L>() -> Launcher {
      return [rows = p.outputs[0].shape[0], classes = p.outputs[0].shape[1]](const LaunchArgs& a) {
        T* y = a.out<T>(0);
        parallel_for(rows, kElementwiseGrain / classes + 1, [&](std::int64_t begin, std::int64_t end, int) {
          std::fill(y + begin * classes, y + end * classes, T{0});
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t label = a.in<L>(0)[r];
            if (label >= 0 && label < classes)
              y[r * classes + label] = 1;
            else
              std::fill_n(y + r * classes, classes, std::numeric_limits<T>::quiet_NaN());
          }
        });
      };
    });
  });
}

}  // namespace headroom

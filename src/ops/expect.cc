#include "ops/expect.h"

namespace headroom {

void expect_inputs(std::string_view op, const std::vector<TensorType>& inputs, std::size_t count) {
  if (inputs.size() != count) reject("{} takes {} inputs, not {}", op, count, inputs.size());
  expect_not_empty(op, inputs);
}

void expect_not_empty(std::string_view op, const std::vector<TensorType>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::int64_t d : inputs[i].shape.dims())
      if (d < 1) reject("{}: input {} is {}, which has no elements", op, i, inputs[i].shape.str());
}

void expect_float(std::string_view op, const TensorType& type) {
  if (!is_float(type.dtype)) reject("{} computes on floating point, not on {}", op, name_of(type.dtype));
}

void expect_rank(std::string_view op, const TensorType& type, int rank, std::string_view layout) {
  if (type.shape.rank() != rank) reject("{} takes {}, not {}", op, layout, type.shape.str());
}

void expect_same(std::string_view op, const TensorType& a, const TensorType& b) {
  if (a != b)
    reject("{}: {} {} and {} {} differ", op, name_of(a.dtype), a.shape.str(), name_of(b.dtype),
           b.shape.str());
}

void expect_labels(std::string_view op, const TensorType& scores, const TensorType& labels) {
  expect_float(op, scores);
  expect_rank(op, scores, 2, "scores of shape [N, C]");
  if (labels.dtype != DType::i32 && labels.dtype != DType::i64)
    reject(Hint{"one class number per row; one-hot labels are not taken"},
           "{}: labels are int32 or int64, not {}", op, name_of(labels.dtype));
  if (labels.shape != Shape{scores.shape[0]})
    reject("{}: {} rows of scores with labels of shape {}", op, scores.shape[0], labels.shape.str());
}

}  // namespace headroom

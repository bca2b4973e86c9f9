#pragma once

// What most schemas check before they infer anything. Each rejects with the operator's name and the shapes.

#include <string_view>

#include "graph/schema.h"

namespace headroom {

// Exactly `count` inputs, none of them empty.
void expect_inputs(std::string_view op, const std::vector<TensorType>& inputs, std::size_t count);
void expect_not_empty(std::string_view op, const std::vector<TensorType>& inputs);
void expect_float(std::string_view op, const TensorType& type);
void expect_rank(std::string_view op, const TensorType& type, int rank, std::string_view layout);
void expect_same(std::string_view op, const TensorType& a, const TensorType& b);
// Labels are int32 or int64, one for each row of [N, C] scores.
void expect_labels(std::string_view op, const TensorType& scores, const TensorType& labels);

// Calls f.operator()<L>() with the integer type of the labels.
template <class F>
decltype(auto) dispatch_labels(DType dtype, F&& f) {
  if (dtype == DType::i64) return f.template operator()<std::int64_t>();
  return f.template operator()<std::int32_t>();
}

}  // namespace headroom

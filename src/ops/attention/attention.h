#pragma once

#include "ops/operator.h"

namespace headroom {

// attention(qkv[B, T, 3 H D]; heads = H, causal = 0, scale = 1 / sqrt(D)) -> y[B, T, H D], lse[B, H, T].
//
// Scaled dot-product attention of every head, from queries, keys and values side by side as one linear layer
// leaves them: the last axis of qkv is [3, H, D], that of y is [H, D], so nothing is ever transposed. With
// s[t][u] = scale q[t] . k[u], a row of y is the mean of v[u] weighted by softmax(s[t]); causal rows see
// u <= t alone. lse[t] is log(sum of exp(s[t])), in fp32 beside 16-bit types: all that the gradient needs of
// the T x T scores, which are never stored.
//
// attention_grad(dy, qkv, y, lse; the same) -> dqkv computes the scores a second time, block by block.
std::vector<Operator> attention_operators();

struct AttentionProblem {
  std::int64_t batch, time, heads, width;
  bool causal;
  double scale;
  std::int64_t qkv_row() const { return 3 * heads * width; }  // elements from one time to the next
  std::int64_t row() const { return heads * width; }
  std::int64_t pairs() const { return causal ? time * (time + 1) / 2 : time * time; }  // scores per head
};
AttentionProblem attention_problem(const Problem& problem);  // of either operator

OpSchema attention_schema();
OpSchema attention_grad_schema();

std::vector<Case> attention_cases(bool backward);

}  // namespace headroom

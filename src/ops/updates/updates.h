#pragma once

#include <array>
#include <optional>

#include "ops/cpu/tensor_list.h"
#include "ops/operator.h"

namespace headroom {

// Optimizers: op(learning_rate [, step], then parameter, gradient, states of each tensor; settings) ->
// parameter', states' of each tensor, in place. All tensors of a network go into one node.
//
// learning_rate and step (the number of the update, from 1) are scalars [1] in fp64, read at each launch. The
// semantics are those of torch.optim; with g' = g + l2 p where `penalized` has a 1 for the tensor:
//
//   sgd       m' = momentum m + g';  p' = p - lr (nesterov ? g' + momentum m' : m'); without momentum no m
//   adagrad   s' = s + g'^2;  p' = p - lr g' / (sqrt(s') + epsilon)
//   adadelta  s' = rho s + (1 - rho) g'^2;  d = g' sqrt(a + epsilon) / sqrt(s' + epsilon);
//             a' = rho a + (1 - rho) d^2;  p' = p - lr d
//   rmsprop   s' = alpha s + (1 - alpha) g'^2;  d = g' / (sqrt(s') + epsilon);
//             with momentum m' = momentum m + d;  p' = p - lr (m' or d)
//   adam      m' = beta1 m + (1 - beta1) g';  v' = beta2 v + (1 - beta2) g'^2;
//             p' = p - lr m' / (1 - beta1^step) / (sqrt(v' / (1 - beta2^step)) + epsilon)
//   adamw     the same of g, after p = (1 - lr l2) p where penalized: weights decay apart from the gradient
std::vector<Operator> update_operators();

// A number that an optimizer can be given, with its default; legal in [0, below).
struct UpdateSetting {
  std::string_view name;
  double fallback = 0;
  double below = 1;
};

// One optimizer, as far as it does not depend on the type of the elements; arithmetic.h has the rest.
struct UpdateRule {
  std::string_view name;
  bool counts_steps = false;                   // takes `step` after the learning rate
  bool decoupled = false;                      // l2 shrinks the parameter instead of joining the gradient
  std::array<UpdateSetting, 3> settings = {};  // unused ones have no name
  // Kept for each tensor, in the order of the inputs; the last only with momentum if `optional_last`.
  std::array<std::string_view, 2> states = {};
  bool optional_last = false;
  Cost element = {};  // arithmetic for one element, momentum and L2 apart
};
const std::vector<const UpdateRule*>& update_rules();
const UpdateRule* find_update_rule(std::string_view op);  // null: not an optimizer

// Where the values of each tensor are in an update's lists of inputs and outputs: what passes and programs
// need to know of any optimizer.
struct UpdateLayout {
  std::size_t scalars = 1;                                  // before the first tensor
  std::vector<std::string_view> states;                     // "momentum", "first_moment", …
  std::size_t stride() const { return 2 + states.size(); }  // inputs per tensor; outputs are one less

  std::size_t in(std::size_t i) const { return scalars + i * stride(); }
  std::size_t out(std::size_t i) const { return i * (stride() - 1); }
};
UpdateLayout layout_of(const UpdateRule& rule, const Attrs& attrs);

struct UpdateProblem {
  UpdateLayout layout;
  TensorList tensors;
  std::vector<double> l2;  // per tensor
};
UpdateProblem update_problem(const UpdateRule& rule, const Problem& problem);

// The schema's functions, with the rule they are for.
std::vector<TensorType> infer_update(const UpdateRule& rule, const std::vector<TensorType>& inputs,
                                     const Attrs& attrs);
Cost update_cost(const UpdateRule& rule, const Problem& problem);
std::vector<int> update_aliases(const UpdateRule& rule, const Problem& problem);

Launcher prepare_update_cuda(const Problem& problem, const LaunchContext& context);  // any of them

}  // namespace headroom

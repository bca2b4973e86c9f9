#include "ops/expect.h"
#include "ops/mlp_classifier/mlp_classifier.h"
#include "ops/tally/tally.h"

namespace headroom {
namespace mlp_classifier_schema_cc {
namespace {

constexpr const char* kName = "mlp_classifier";

Activation activation_of(const Attrs& attrs) {
  const std::string name = attrs.text("activation");
  const auto activation = parse_activation(name);
  if (!activation || *activation == Activation::none) reject("{}: no activation '{}'", kName, name);
  return *activation;
}

constexpr std::size_t kRate = 6, kSums = 7;  // inputs with the learning rate and the tally, if they are there
constexpr std::size_t kParameters = MlpClassifierProblem::kParameters;

// A flag for each parameter: is it penalized?
std::vector<std::int64_t> penalized(const Attrs& attrs) {
  return attrs.integers("penalized", std::vector<std::int64_t>(kParameters, 0));
}

void expect_update(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_same(kName, in[kRate], {{1}, DType::f64});
  if (in.size() > kSums) expect_same(kName, in[kSums], {{std::int64_t{kTallyFields}}, DType::f64});
  if (!(attrs.real("l2") >= 0)) reject("{}: l2 is {}", kName, attrs.real("l2"));
  if (const std::size_t n = penalized(attrs).size(); n != kParameters)
    reject("{}: 'penalized' names {} tensors of {}", kName, n, kParameters);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (in.size() < kRate || in.size() > kSums + 1)
    reject("{} takes 6 inputs, and a learning rate and sums after them, not {}", kName, in.size());
  expect_not_empty(kName, in);
  expect_float(kName, in[0]);
  expect_rank(kName, in[0], 2, "rows of shape [B, K]");
  expect_rank(kName, in[1], 2, "weights of shape [H, K]");
  expect_rank(kName, in[3], 2, "weights of shape [C, H]");
  const DType dtype = in[0].dtype;
  const std::int64_t rows = in[0].shape[0], inputs = in[0].shape[1];
  const std::int64_t hidden = in[1].shape[0], classes = in[3].shape[0];
  expect_same(kName, in[1], {{hidden, inputs}, dtype});
  expect_same(kName, in[2], {{hidden}, dtype});
  expect_same(kName, in[3], {{classes, hidden}, dtype});
  expect_same(kName, in[4], {{classes}, dtype});
  expect_labels(kName, {{rows, classes}, dtype}, in[5]);
  activation_of(attrs);
  if (in.size() > kRate) expect_update(in, attrs);
  std::vector<TensorType> out = {{{1}, dtype}, {{1}, dtype}, in[1], in[2], in[3], in[4]};
  if (in.size() > kSums) out.push_back(in[kSums]);
  return out;
}

// Of its parts, without the traffic between them.
Cost cost(const Problem& problem) {
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  const DType dtype = problem.inputs[0].dtype;
  const TensorType h{{p.rows, p.hidden}, dtype};
  const std::string name = problem.attrs.text("activation");
  const Problem parts[] = {
      {.op = "linear",
       .inputs = {problem.inputs[0], problem.inputs[1], problem.inputs[2]},
       .outputs = {h},
       .attrs = {{"activation", name}}},
      {.op = "classifier_head",
       .inputs = {h, problem.inputs[3], problem.inputs[4], problem.inputs[5]},
       .outputs = {problem.outputs[0], problem.outputs[1], h, problem.outputs[4], problem.outputs[5],
                   problem.outputs[3]},
       .attrs = {{"activation_grad", name}}},
      {.op = "matmul",
       .inputs = {h, problem.inputs[0]},
       .outputs = {problem.outputs[2]},
       .attrs = {{"trans_a", std::int64_t{1}}}},
  };
  Cost sum = traffic(problem);
  for (const Problem& part : parts) {
    const Cost own = schema_of(part.op).cost(part);
    sum.multiply_add += own.multiply_add, sum.other += own.other, sum.special += own.special;
  }
  if (p.updates)
    for (std::size_t i = 0; i < kParameters; ++i)
      sum.multiply_add += (p.l2[i] == 0 ? 2
                           : p.penalty  ? 6
                                        : 4) *
                          double(problem.inputs[1 + i].shape.numel());
  if (p.tallies) sum.other += 4;
  return sum;
}

// Parameters and sums are updated in place; gradients have storage of their own.
std::vector<int> aliases(const Problem& problem) {
  if (problem.inputs.size() <= kRate) return {};
  std::vector<int> list = {-1, -1, 1, 2, 3, 4};
  if (problem.inputs.size() > kSums) list.push_back(static_cast<int>(kSums));
  return list;
}

}  // namespace
}  // namespace mlp_classifier_schema_cc

MlpClassifierProblem mlp_classifier_problem(const Problem& problem) {
  using namespace mlp_classifier_schema_cc;
  const Shape &x = problem.inputs.at(0).shape, &w2 = problem.inputs.at(3).shape;
  MlpClassifierProblem p{.rows = x[0],
                         .inputs = x[1],
                         .hidden = w2[1],
                         .classes = w2[0],
                         .activation = activation_of(problem.attrs),
                         .updates = problem.inputs.size() > kRate,
                         .penalty = problem.attrs.integer("penalty") != 0,
                         .tallies = problem.inputs.size() > kSums,
                         .count = problem.attrs.integer("count", 1)};
  if (p.updates) {
    const std::vector<std::int64_t> flags = penalized(problem.attrs);
    for (std::size_t i = 0; i < kParameters; ++i) p.l2[i] = flags[i] != 0 ? problem.attrs.real("l2") : 0;
  }
  return p;
}

// Neither the outputs of the hidden layer nor the scores of the last one are kept; their biases have as many
// numbers.
OpSchema mlp_classifier_schema() {
  using namespace mlp_classifier_schema_cc;
  return {.name = kName, .infer = infer, .cost = cost, .aliases = aliases, .inner_outputs = {2, 4}};
}

}  // namespace headroom

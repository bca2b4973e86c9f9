#include "ops/expect.h"
#include "ops/sgd/sgd.h"

namespace headroom {
namespace {

std::vector<std::int64_t> penalized(const Attrs& attrs, std::size_t tensors) {
  return attrs.integers("penalized", std::vector<std::int64_t>(tensors, 0));
}

void expect_attributes(const Attrs& attrs, std::size_t tensors) {
  const double momentum = attrs.real("momentum");
  if (!(momentum >= 0 && momentum < 1))
    reject(Hint{"0 is plain gradient descent, 0.9 is usual"}, "sgd: momentum is {}, not within [0, 1)",
           momentum);
  if (attrs.integer("nesterov") != 0 && momentum == 0)
    reject(Hint{"give a momentum as well"}, "sgd: nesterov without momentum");
  if (!(attrs.real("l2") >= 0)) reject("sgd: l2 is {}", attrs.real("l2"));
  if (const std::size_t n = penalized(attrs, tensors).size(); n != tensors)
    reject("sgd: 'penalized' names {} tensors of {}", n, tensors);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const std::size_t stride = attrs.real("momentum") > 0 ? 3 : 2;
  if (in.size() < 1 + stride || (in.size() - 1) % stride != 0)
    reject("sgd takes the learning rate and {} values per tensor, not {} inputs", stride, in.size());
  expect_not_empty("sgd", in);
  expect_same("sgd", in[0], {{1}, DType::f64});
  expect_attributes(attrs, (in.size() - 1) / stride);
  std::vector<TensorType> out;
  for (std::size_t i = 1; i < in.size(); i += stride) {
    expect_float("sgd", in[i]);
    if (in[i].dtype != in[1].dtype)
      reject("sgd: parameters in {} and {}", name_of(in[1].dtype), name_of(in[i].dtype));
    for (std::size_t k = 1; k < stride; ++k) expect_same("sgd", in[i], in[i + k]);
    out.insert(out.end(), stride - 1, in[i]);
  }
  return out;
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const SgdProblem sgd = sgd_problem(p);
  for (std::size_t i = 0; i < sgd.tensors.size(); ++i) {
    const int products = 1 + (sgd.l2[i] > 0) + (sgd.momentum > 0) + sgd.nesterov;
    c.multiply_add += 2.0 * products * static_cast<double>(p.inputs[sgd.in(i)].shape.numel());
  }
  return c;
}

std::vector<int> aliases(const Problem& p) {
  const SgdProblem sgd = sgd_problem(p);
  std::vector<int> list;
  for (std::size_t i = 0; i < sgd.tensors.size(); ++i) {
    list.push_back(static_cast<int>(sgd.in(i)));
    if (sgd.momentum > 0) list.push_back(static_cast<int>(sgd.in(i) + 2));
  }
  return list;
}

}  // namespace

SgdProblem sgd_problem(const Problem& p) {
  SgdProblem sgd{.momentum = p.attrs.real("momentum"), .nesterov = p.attrs.integer("nesterov") != 0};
  for (std::size_t i = 1; i < p.inputs.size(); i += sgd.stride()) sgd.tensors.add(p.inputs[i].shape);
  for (std::int64_t on : penalized(p.attrs, sgd.tensors.size()))
    sgd.l2.push_back(on != 0 ? p.attrs.real("l2") : 0.0);
  return sgd;
}

OpSchema sgd_schema() { return {.name = "sgd", .infer = infer, .cost = cost, .aliases = aliases}; }

}  // namespace headroom

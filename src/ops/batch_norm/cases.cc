#include "ops/batch_norm/batch_norm.h"

namespace headroom {
namespace batch_norm_cases_cc {
namespace {

// Matrices and short planes, planes of a run and of several, fewer channels than threads, and more.
std::vector<Case> cases(bool gradient, bool training) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, Attrs attrs = {}) {
    const Shape c{x[1]};
    Case item{.tier = tier, .inputs = {x, c, c, c, c}, .attrs = std::move(attrs)};
    item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};  // a variance, or one over a deviation
    if (gradient) item.inputs = {x, x, c, c, c};
    if (gradient && training) item.dtypes = {{}, {}, {}, DType::f64, DType::f64};
    list.push_back(std::move(item));
  };
  for (const Shape& x : std::vector<Shape>{{2, 1},
                                           {5, 3},
                                           {129, 10},
                                           {300, 67},
                                           {3, 2, 5},
                                           {4, 3, 7, 7},
                                           {2, 5, 8, 8},
                                           {1, 2, 9, 9},
                                           {3, 16, 12, 11},
                                           {2, 3, 4100}})
    add(Tier::ci, x);
  add(Tier::ci, {6, 4, 3, 3}, {{"epsilon", 0.5}});
  if (training && !gradient) add(Tier::ci, {6, 4}, {{"momentum", 1.0}});
  add(Tier::smoke, {32, 64, 14, 14});
  add(Tier::smoke, {500, 300});
  add(Tier::perf, {32, 128, 32, 32});
  add(Tier::perf, {32, 512, 7, 7});
  add(Tier::perf, {4096, 1024});
  return list;
}

// With relu folded in, with a residual input and without; only kernels that say so take these.
void add_folded(std::vector<Case>& list, bool training) {
  for (const Shape& x :
       std::vector<Shape>{{6, 8, 3, 3}, {2, 24, 5, 7}, {40, 64, 4, 4}, {3, 264, 2, 5}, {300, 16}})
    for (bool residual : {false, true}) {
      const Shape c{x[1]};
      Case item{
          .tier = Tier::smoke, .inputs = {x, c, c, c, c}, .attrs = {{"activation", std::string("relu")}}};
      item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};
      if (residual) item.inputs.push_back(x);
      list.push_back(std::move(item));
    }
  if (training) list.back().attrs.set("momentum", 0.5);
}

void add_folded_gradient(std::vector<Case>& list) {
  for (const Shape& x :
       std::vector<Shape>{{6, 8, 3, 3}, {2, 24, 5, 7}, {40, 64, 4, 4}, {3, 264, 2, 5}, {300, 16}})
    for (int kind = 0; kind < 3; ++kind) {
      const Shape c{x[1]};
      Case item{
          .tier = Tier::smoke, .inputs = {x, x, c, c, c}, .attrs = {{"activation", std::string("relu")}}};
      item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};
      item.dtypes = {{}, {}, {}, DType::f64, DType::f64};
      item.inputs.push_back(c);
      if (kind > 0) item.inputs.push_back(x), item.attrs.set("residual", std::int64_t{1});
      if (kind > 1) item.inputs.push_back(x);
      list.push_back(std::move(item));
    }
}

}  // namespace
}  // namespace batch_norm_cases_cc

std::vector<Case> batch_norm_cases(std::string_view op) {
  using namespace batch_norm_cases_cc;
  const bool gradient = op.ends_with("_grad"), training = !op.starts_with("batch_norm_inference");
  std::vector<Case> list = cases(gradient, training);
  if (!gradient) add_folded(list, training);
  if (op == "batch_norm_grad") add_folded_gradient(list);
  return list;
}

}  // namespace headroom

#include "ops/conv3d/conv3d.h"

namespace headroom {
namespace conv3d_cases_cc {
namespace {

using Ints = std::vector<std::int64_t>;

struct Volumes {
  Tier tier;
  Shape x, w;
  Attrs attrs;
};

std::vector<Volumes> volumes() {
  const Ints ones(6, 1);
  return {
      {Tier::ci, {2, 1, 5, 4, 6}, {3, 1, 3, 2, 3}, {}},
      {Tier::ci, {2, 3, 2, 3, 4}, {4, 3, 1, 1, 1}, {}},  // a product: nothing is unrolled
      {Tier::ci, {3, 2, 3, 3, 3}, {5, 2, 3, 3, 3}, {}},  // covers the input
      {Tier::ci, {1, 4, 4, 5, 5}, {6, 2, 3, 3, 3}, {{"groups", std::int64_t{2}}, {"pads", ones}}},
      {Tier::ci, {2, 3, 4, 4, 3}, {3, 1, 2, 3, 3}, {{"groups", std::int64_t{3}}, {"pads", ones}}},
      {Tier::ci,
       {2, 2, 6, 5, 7},
       {3, 2, 3, 2, 3},
       {{"strides", Ints{2, 1, 3}}, {"pads", Ints{1, 0, 2, 2, 1, 0}}}},
      {Tier::ci,
       {1, 2, 7, 5, 6},
       {2, 2, 3, 2, 2},
       {{"dilations", Ints{2, 3, 1}}, {"pads", Ints{2, 1, 0, 1, 3, 1}}}},
      {Tier::ci,
       {1, 2, 5, 6, 4},
       {2, 2, 3, 4, 2},
       {{"auto_pad", std::string("same_upper")}, {"strides", Ints{2, 1, 2}}}},
      {Tier::ci, {1, 1, 4, 5, 6}, {2, 1, 2, 4, 3}, {{"auto_pad", std::string("same_lower")}}},
      {Tier::smoke, {1, 3, 9, 20, 22}, {4, 3, 3, 3, 3}, {{"pads", ones}}},
      // Several slabs of an image, also where slices are left over.
      {Tier::smoke, {1, 20, 5, 29, 31}, {2, 20, 3, 3, 3}, {{"pads", ones}, {"strides", Ints{1, 2, 2}}}},
      {Tier::smoke, {2, 24, 3, 24, 25}, {4, 12, 3, 3, 3}, {{"groups", std::int64_t{2}}, {"pads", ones}}},
      {Tier::smoke, {1, 16, 13, 40, 41}, {3, 16, 1, 1, 1}, {}},
      {Tier::perf, {1, 3, 16, 112, 112}, {64, 3, 3, 3, 3}, {{"pads", ones}}},
      {Tier::perf, {1, 128, 8, 28, 28}, {256, 128, 3, 3, 3}, {{"pads", ones}}},
      {Tier::perf, {4, 512, 2, 7, 7}, {512, 512, 3, 3, 3}, {{"pads", ones}}},
  };
}

}  // namespace
}  // namespace conv3d_cases_cc

std::vector<Case> conv3d_cases(std::string_view op) {
  using namespace conv3d_cases_cc;
  std::vector<Case> list;
  for (const Volumes& v : volumes()) {
    Attrs attrs = v.attrs;
    const Shape y = infer_conv3d({{v.x, DType::f32}, {v.w, DType::f32}}, attrs).at(0).shape;
    if (op == "conv3d") {
      list.push_back({.tier = v.tier, .inputs = {v.x, v.w}, .attrs = attrs});
      list.push_back({.tier = v.tier, .inputs = {v.x, v.w, {v.w[0]}}, .attrs = attrs});
    } else if (op == "conv3d_grad_input") {
      attrs.set("input_shape", v.x.vector());
      list.push_back({.tier = v.tier, .inputs = {y, v.w}, .attrs = attrs});
    } else {
      attrs.set("weight_shape", v.w.vector());
      list.push_back({.tier = v.tier, .inputs = {v.x, y}, .attrs = attrs});
    }
  }
  return list;
}

}  // namespace headroom

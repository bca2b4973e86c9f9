#include "ops/conv2d/conv2d.h"

namespace headroom {
namespace {

using Ints = std::vector<std::int64_t>;

struct Geometry {
  Tier tier;
  Shape x, w;
  Attrs attrs;
};

std::vector<Geometry> geometries() {
  const auto one = std::int64_t{1};
  return {
      {Tier::ci, {5, 1, 9, 8}, {3, 1, 3, 3}, {}},
      {Tier::ci, {2, 3, 7, 7}, {4, 3, 1, 1}, {}},
      {Tier::ci, {9, 2, 5, 5}, {7, 2, 5, 5}, {}},  // covers the input
      {Tier::ci, {3, 4, 9, 11}, {6, 2, 3, 3}, {{"groups", std::int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {Tier::ci,
       {4, 4, 8, 8},
       {4, 1, 3, 3},
       {{"groups", std::int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}}},  // depthwise
      {Tier::ci, {17, 2, 10, 9}, {5, 2, 3, 2}, {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}}},
      {Tier::ci, {4, 3, 12, 13}, {9, 3, 3, 3}, {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}},
      {Tier::ci,
       {4, 2, 7, 8},
       {3, 2, 4, 3},
       {{"auto_pad", std::string("same_upper")}, {"strides", Ints{2, one}}}},
      {Tier::ci, {4, 2, 7, 8}, {3, 2, 4, 4}, {{"auto_pad", std::string("same_lower")}}},
      {Tier::smoke, {18, 1, 32, 32}, {6, 1, 5, 5}, {}},
      {Tier::smoke, {18, 6, 14, 14}, {16, 6, 5, 5}, {}},
      {Tier::smoke, {18, 16, 5, 5}, {120, 16, 5, 5}, {}},
      {Tier::smoke, {3, 1, 20, 20}, {12, 1, 7, 7}, {}},
      {Tier::smoke, {2, 8, 11, 11}, {64, 8, 11, 11}, {{"pads", Ints{5, 5, 5, 5}}, {"strides", Ints{4, 4}}}},
      // Many columns of maps, bands of rows, several images in a tile, gradients of strides, tails
      // everywhere.
      {Tier::smoke, {3, 12, 15, 13}, {24, 12, 7, 7}, {}},
      {Tier::smoke, {5, 5, 9, 9}, {19, 5, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke, {41, 3, 9, 8}, {30, 3, 3, 3}, {{"strides", Ints{1, 1}}}},
      {Tier::smoke, {2, 3, 33, 31}, {40, 3, 3, 5}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 2, 0, 1}}}},
      {Tier::smoke,
       {3, 8, 12, 10},
       {20, 4, 3, 3},
       {{"groups", std::int64_t{2}}, {"dilations", Ints{2, 1}}, {"strides", Ints{1, 2}}}},
      {Tier::smoke, {2, 64, 9, 7}, {72, 64, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke, {3, 70, 1, 1}, {66, 70, 1, 1}, {}},
      {Tier::smoke, {1, 2, 150, 140}, {5, 2, 3, 3}, {}},
      {Tier::smoke,
       {2, 33, 17, 18},
       {33, 1, 5, 3},
       {{"groups", std::int64_t{33}}, {"pads", Ints{2, 1, 2, 1}}, {"strides", Ints{2, 2}}}},
      // Few channels: a gradient of the input, groups with unequal pads, bands of an image with many maps.
      {Tier::smoke, {3, 4, 17, 15}, {3, 4, 5, 7}, {{"pads", Ints{2, 3, 1, 0}}}},
      {Tier::smoke, {2, 6, 19, 21}, {14, 3, 4, 5}, {{"groups", std::int64_t{2}}, {"pads", Ints{1, 2, 3, 0}}}},
      {Tier::smoke, {1, 3, 70, 75}, {32, 3, 7, 7}, {{"pads", Ints{3, 3, 3, 3}}}},
      {Tier::perf, {256, 1, 32, 32}, {6, 1, 5, 5}, {}},
      {Tier::perf, {256, 6, 14, 14}, {16, 6, 5, 5}, {}},
      {Tier::perf, {256, 16, 5, 5}, {120, 16, 5, 5}, {}},
      {Tier::perf, {32, 64, 56, 56}, {64, 64, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
  };
}

}  // namespace

std::vector<Case> conv2d_cases(std::string_view op) {
  std::vector<Case> list;
  for (const Geometry& g : geometries()) {
    const Shape y = infer_conv2d({{g.x, DType::f32}, {g.w, DType::f32}}, g.attrs).at(0).shape;
    Attrs attrs = g.attrs;
    if (op == "conv2d") {
      list.push_back({.tier = g.tier, .inputs = {g.x, g.w}, .attrs = attrs});
      list.push_back({.tier = g.tier, .inputs = {g.x, g.w, {g.w[0]}}, .attrs = attrs});
    } else if (op == "conv2d_grad_input") {
      attrs.set("input_shape", g.x.vector());
      list.push_back({.tier = g.tier, .inputs = {y, g.w}, .attrs = attrs});
    } else {
      attrs.set("weight_shape", g.w.vector());
      list.push_back({.tier = g.tier, .inputs = {g.x, y}, .attrs = attrs});
    }
  }
  if (op == "conv2d")  // fused forms are made after differentiation: kernel tests alone
    for (const char* f : {"relu", "sigmoid", "tanh"})
      list.push_back({.tier = Tier::smoke,
                      .inputs = {{5, 2, 9, 8}, {3, 2, 3, 3}, {3}},
                      .attrs = {{"activation", std::string(f)}},
                      .exact = std::string_view(f) == "relu"});
  return list;
}

}  // namespace headroom

#include <tuple>

#include "ops/conv2d/conv2d.h"

namespace headroom {
namespace conv2d_cases_cc {
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
      {Tier::smoke, {2, 3, 1, 5}, {13, 3, 3, 3}, {{"pads", Ints{3, 4, 2, 5}}}},
      {Tier::smoke, {3, 9, 6, 35}, {26, 9, 3, 3}, {{"pads", Ints{0, 2, 1, 0}}}},
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
      // Few channels, strided: kernels that are no multiple of the step, or smaller; unequal steps; pixels at
      // the end that no window reaches.
      {Tier::smoke, {2, 3, 9, 10}, {8, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke, {2, 3, 35, 34}, {16, 3, 11, 11}, {{"strides", Ints{4, 4}}, {"pads", Ints{2, 2, 2, 2}}}},
      {Tier::smoke, {2, 3, 20, 21}, {16, 3, 7, 7}, {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}},
      {Tier::smoke, {3, 1, 17, 19}, {12, 1, 5, 4}, {{"strides", Ints{2, 3}}, {"pads", Ints{2, 1, 2, 1}}}},
      {Tier::smoke, {2, 5, 16, 15}, {8, 5, 2, 3}, {{"strides", Ints{3, 4}}}},
      {Tier::smoke, {2, 7, 12, 9}, {8, 7, 3, 3}, {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 1, 0}}}},
      {Tier::smoke, {3, 3, 32, 32}, {24, 3, 8, 8}, {{"strides", Ints{8, 8}}}},
      // Depthwise with several maps a channel, strides beyond the kernel, more than nine taps, dilation; rows
      // shorter than a register, one pixel, odd channels, blocks of k and of maps, a narrow group.
      {Tier::ci,
       {2, 3, 7, 6},
       {6, 1, 3, 3},
       {{"groups", std::int64_t{3}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 1, 1, 0}}}},
      {Tier::smoke,
       {2, 5, 13, 17},
       {15, 1, 4, 5},
       {{"groups", std::int64_t{5}}, {"dilations", Ints{2, 3}}, {"pads", Ints{3, 1, 0, 2}}}},
      {Tier::smoke, {1, 7, 11, 10}, {7, 1, 2, 2}, {{"groups", std::int64_t{7}}, {"strides", Ints{3, 4}}}},
      {Tier::smoke,
       {2, 6, 9, 9},
       {6, 1, 3, 3},
       {{"groups", std::int64_t{6}}, {"pads", Ints{4, 4, 4, 4}}, {"strides", Ints{2, 1}}}},
      {Tier::smoke, {1, 4, 1, 1}, {20, 2, 1, 1}, {{"groups", std::int64_t{2}}}},
      {Tier::smoke, {1, 9, 1, 1}, {5, 9, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke, {1, 13, 20, 21}, {11, 13, 2, 1}, {{"strides", Ints{3, 5}}}},
      {Tier::smoke, {1, 67, 5, 27}, {35, 67, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"dilations", Ints{1, 2}}}},
      {Tier::smoke, {1, 130, 5, 5}, {270, 130, 3, 3}, {{"pads", Ints{1, 0, 1, 2}}}},
      {Tier::smoke, {1, 100, 13, 13}, {33, 100, 1, 1}, {}},
      {Tier::smoke, {1, 16, 30, 31}, {18, 16, 1, 1}, {{"strides", Ints{2, 2}}}},
      {Tier::smoke, {3, 18, 9, 9}, {12, 3, 3, 3}, {{"groups", std::int64_t{6}}, {"pads", Ints{1, 1, 1, 1}}}},
      {Tier::smoke, {1, 3, 40, 43}, {24, 3, 11, 11}, {{"strides", Ints{4, 4}}, {"pads", Ints{2, 2, 2, 2}}}},
      {Tier::perf, {1, 64, 56, 56}, {64, 64, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::perf, {1, 256, 14, 14}, {256, 256, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::perf, {1, 512, 7, 7}, {512, 512, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {Tier::perf, {1, 3, 224, 224}, {64, 3, 7, 7}, {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}},
      {Tier::perf, {1, 24, 56, 56}, {144, 24, 1, 1}, {}},
      {Tier::perf,
       {1, 144, 56, 56},
       {144, 1, 3, 3},
       {{"groups", std::int64_t{144}}, {"pads", Ints{1, 1, 1, 1}}}},
      {Tier::perf, {256, 1, 32, 32}, {6, 1, 5, 5}, {}},
      {Tier::perf, {256, 6, 14, 14}, {16, 6, 5, 5}, {}},
      {Tier::perf, {256, 16, 5, 5}, {120, 16, 5, 5}, {}},
      {Tier::perf, {32, 64, 56, 56}, {64, 64, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
  };
}

// Convolutions that pool: the layers of small networks, windows side by side, overlapping and cut off, means,
// more images than there are blocks, bands, strides.
void add_pooled_cases(std::vector<Case>& list) {
  const auto add = [&](const char* pool, Ints kernel, const char* f, const Shape& x, const Shape& w,
                       bool bias = true, Attrs attrs = {}) {
    Case c{.tier = Tier::smoke, .inputs = {x, w}, .attrs = std::move(attrs)};
    if (bias) c.inputs.push_back({w[0]});
    c.attrs.set("bias", std::int64_t{bias});
    c.attrs.set("norm", std::int64_t{0});
    c.attrs.set("residual", std::int64_t{0});
    c.attrs.set("pool", std::string(pool));
    c.attrs.set("pool_kernel", std::move(kernel));
    if (*f != '\0') c.attrs.set("activation", std::string(f));
    list.push_back(std::move(c));
  };
  const Attrs padded = {{"pads", Ints{1, 1, 1, 1}}}, strided = {{"strides", Ints{2, 2}}};
  const Attrs by_two = {{"pool_strides", Ints{2, 2}}}, cut_off = {{"pool_ceil_mode", std::int64_t{1}}};
  add("max", {2, 2}, "tanh", {2, 1, 72, 72}, {12, 1, 7, 7}, false);
  add("max", {2, 2}, "relu", {3, 1, 32, 32}, {6, 1, 5, 5});
  add("max", {2, 2}, "relu", {3, 6, 14, 14}, {16, 6, 5, 5});
  add("avg", {2, 2}, "tanh", {3, 6, 14, 14}, {16, 6, 5, 5});
  add("max", {4, 4}, "relu", {1, 4, 40, 40}, {16, 4, 7, 7});
  add("max", {2, 2}, "sigmoid", {2, 3, 13, 17}, {5, 3, 3, 5});
  add("max", {2, 2}, "", {2, 16, 12, 10}, {20, 16, 3, 3}, true, padded);
  add("max", {2, 2}, "", {2, 3, 21, 20}, {8, 3, 5, 5}, false, strided);
  add("max", {2, 2}, "relu", {2, 5, 14, 13}, {6, 5, 3, 3}, true, {{"dilations", Ints{2, 3}}});
  add("max", {3, 3}, "relu", {2, 7, 16, 15}, {10, 7, 3, 3}, true, by_two);
  add("avg", {2, 3}, "", {2, 2, 12, 11}, {3, 2, 3, 3}, true, cut_off);
  add("max", {2, 2}, "", {2, 2, 12, 11}, {3, 2, 3, 3}, true, cut_off);
  add("max", {3, 2}, "tanh", {1, 4, 9, 9}, {8, 4, 3, 3}, true, {{"pool_pads", Ints{1, 0, 1, 1}}});
  add("max", {2, 2}, "", {1, 6, 8, 9}, {70, 6, 3, 3}, true, padded);
  add("max", {2, 2}, "relu", {1000, 1, 9, 8}, {3, 1, 3, 3});
  add("max", {2, 2}, "relu", {1, 3, 150, 140}, {8, 3, 5, 5});
}

}  // namespace
}  // namespace conv2d_cases_cc

std::vector<Case> conv2d_cases(std::string_view op) {
  using namespace conv2d_cases_cc;
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
  if (op != "conv2d") return list;
  // Whole layers of small networks, and more images than there are blocks on a GPU.
  for (const auto& [x, w, attrs] : std::vector<std::tuple<Shape, Shape, Attrs>>{
           {{2, 1, 72, 72}, {12, 1, 7, 7}, {}},
           {{1, 12, 33, 33}, {24, 12, 7, 7}, {}},
           {{1000, 1, 7, 9}, {5, 1, 3, 3}, {}},
           {{2, 16, 13, 11}, {21, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
           {{2, 16, 12, 15}, {9, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}}})
    list.push_back({.tier = Tier::smoke, .inputs = {x, w, {w[0]}}, .attrs = attrs});
  // Fused forms are made after differentiation: kernel tests alone.
  for (const char* f : {"relu", "sigmoid", "tanh"})
    list.push_back({.tier = Tier::smoke,
                    .inputs = {{5, 2, 9, 8}, {3, 2, 3, 3}, {3}},
                    .attrs = {{"activation", std::string(f)}},
                    .exact = std::string_view(f) == "relu"});
  return list;
}

// Each of the parts of a block, and all of them.
std::vector<Case> conv2d_block_cases() {
  using namespace conv2d_cases_cc;
  std::vector<Case> list;
  add_pooled_cases(list);
  auto add = [&](const Shape& x, const Shape& w, Attrs attrs, bool bias, bool norm, bool residual) {
    const Shape y = infer_conv2d({{x, DType::f32}, {w, DType::f32}}, attrs).at(0).shape, maps{w[0]};
    Case c{.tier = Tier::smoke, .inputs = {x, w}, .attrs = attrs, .fills = {{}, {}}};
    auto input = [&](const Shape& shape, Fill fill = {}) {
      c.inputs.push_back(shape), c.fills.push_back(fill);
    };
    if (bias) input(maps);
    if (norm) input(maps), input(maps), input(maps), input(maps, {Fill::Kind::positive});
    if (residual) input(y);
    c.attrs.set("bias", std::int64_t{bias});
    c.attrs.set("norm", std::int64_t{norm});
    c.attrs.set("residual", std::int64_t{residual});
    list.push_back(std::move(c));
  };
  const Attrs padded = {{"pads", Ints{1, 1, 1, 1}}}, relu = {{"activation", std::string("relu")}};
  const Attrs relu6 = {{"min", 0.0}, {"max", 6.0}};
  auto with = [](Attrs attrs, const Attrs& more) {
    for (const auto& [name, value] : more) attrs.set(name, value);
    return attrs;
  };
  add({2, 3, 9, 8}, {10, 3, 3, 3}, padded, false, true, false);
  add({1, 3, 9, 8}, {10, 3, 3, 3}, with(padded, relu), true, true, false);
  add({1, 16, 7, 7}, {16, 16, 3, 3}, with(padded, relu), false, true, true);
  add({1, 70, 14, 14}, {40, 70, 3, 3}, with(padded, relu6), false, true, true);
  add({1, 20, 15, 13}, {12, 20, 1, 1}, {}, true, false, true);
  add({3, 20, 15, 13}, {12, 20, 1, 1}, {{"epsilon", 0.5}, {"activation", std::string("tanh")}}, false, true,
      true);
  add({2, 12, 15, 14}, {12, 1, 3, 3}, with(with(padded, relu6), {{"groups", std::int64_t{12}}}), false, true,
      false);
  add({1, 6, 9, 9}, {12, 1, 3, 3},
      {{"groups", std::int64_t{6}}, {"strides", Ints{2, 2}}, {"activation", std::string("sigmoid")}}, true,
      true, true);
  add({1, 3, 40, 40}, {24, 3, 7, 7},
      with({{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}, {"epsilon", 0.5}}, relu), false, true,
      false);
  return list;
}

}  // namespace headroom

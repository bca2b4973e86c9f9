#include "models/onnx/learned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/onnx_sequence.h"

namespace headroom::onnx::testing {
namespace {

// Scores [N, 8, 8] of e with itself, plus t, through a softmax.
void add_to_scores(Sequence& m, const std::string& t) {
  m.attribute(m.node("Transpose", {"e"}, {"et"}), "perm", Dims{0, 2, 1});
  m.node("MatMul", {"e", "et"}, {"scores"});
  m.node("Add", {"scores", t}, {"masked"});
  m.node("Softmax", {"masked"}, {"p"});
  m.node("MatMul", {"p", "e"}, {"h"});
}

TEST(OnnxLearned, MasksAreNot) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double hidden : {-inf, -1e4, -1e9, -65504.0, -100.0}) {
    Sequence m;
    m.floats("mask", {8, 8}, filled({8, 8}, [&](auto i) { return i % 8 > i / 8 ? hidden : 0.0; }));
    add_to_scores(m, "mask");
    expect_learned(m, "mask", false, "mask");
  }
  Sequence mixed;  // other numbers beside it
  const Floats seen = learned_values({8, 8});
  mixed.floats("mask", {8, 8}, filled({8, 8}, [&](auto i) {
                 return i % 8 > i / 8 ? -inf : seen[static_cast<std::size_t>(i)];
               }));
  add_to_scores(mixed, "mask");
  expect_learned(mixed, "mask", false, "mask");
  Sequence all;
  all.floats("mask", {1, 8, 8}, Floats(64, 0));
  add_to_scores(all, "mask");
  expect_learned(all, "mask", false, "mask");
}

TEST(OnnxLearned, OffsetsOfScoresAre) {
  Sequence plain;
  plain.store("t", {8, 8});
  add_to_scores(plain, "t");
  expect_learned(plain, "t", true);
  Sequence gathered;  // by distance, as Swin and T5 do it
  gathered.floats("t", {15, 1}, Floats(15, 0));
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < 64; ++i) index.push_back(i / 8 - i % 8 + 7);
  gathered.integers("index", index), gathered.integers("square", {8, 8});
  gathered.node("Gather", {"t", "index"}, {"rows"});
  gathered.node("Reshape", {"rows", "square"}, {"offsets"});
  add_to_scores(gathered, "offsets");
  expect_learned(gathered, "t", true);
  Sequence folded;  // the same after the exporter computed it: few numbers, many times
  const Floats table = learned_values({15});
  folded.floats("t", {8, 8},
                filled({8, 8}, [&](auto i) { return table[static_cast<std::size_t>(i / 8 - i % 8 + 7)]; }));
  add_to_scores(folded, "t");
  expect_learned(folded, "t", true);
  Sequence slopes;  // ALiBi: a straight line
  slopes.floats("t", {8, 8}, filled({8, 8}, [](auto i) { return -0.25 * double(7 - i % 8); }));
  add_to_scores(slopes, "t");
  expect_learned(slopes, "t", false, "table");
}

TEST(OnnxLearned, ClassTokenThroughExpand) {
  Sequence m;
  m.store("cls", {1, 1, 16});
  m.node("Shape", {"x"}, {"s"});
  m.integers("zero", {0}), m.integers("rest", {1, 16});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.attribute(m.node("Concat", {"n", "rest"}, {"to"}), "axis", std::int64_t{0});
  m.node("Expand", {"cls", "to"}, {"tokens"});
  m.attribute(m.node("Concat", {"tokens", "e"}, {"h"}), "axis", std::int64_t{1});
  expect_learned(m, "cls", true);
}

TEST(OnnxLearned, TablesOfPositions) {
  const auto with_table = [](const Floats& values) {
    Sequence m;
    m.floats("table", {32, 16}, values);
    m.integers("index", {0, 1, 2, 3, 4, 5, 6, 7});
    m.node("Gather", {"table", "index"}, {"rows"});
    m.node("Add", {"e", "rows"}, {"h"});
    return m;
  };
  const auto angle = [](std::int64_t i, std::int64_t pair) {
    return double(i / 16) / std::pow(10000, double(pair) / 8);
  };
  Sequence random = with_table(learned_values({32, 16}));
  expect_learned(random, "table", true);
  Sequence fresh = with_table(Floats(32 * 16, 0));
  expect_learned(fresh, "table", true);
  Sequence ramp = with_table(filled({32, 16}, [](auto i) { return 1e-3 * double(i); }));  // filled by hand
  expect_learned(ramp, "table", true);
  Sequence one_wave =
      with_table(filled({32, 16}, [](auto i) { return std::sin(double(i)); }));  // also by hand
  expect_learned(one_wave, "table", true);
  Sequence waves = with_table(filled({32, 16}, [&](auto i) {  // sine, cosine, sine, cosine
    return i % 2 == 0 ? std::sin(angle(i, i % 16 / 2)) : std::cos(angle(i, i % 16 / 2));
  }));
  expect_learned(waves, "table", false, "sines");
  Sequence cosines = with_table(filled({32, 16}, [&](auto i) { return std::cos(angle(i, i % 8)); }));
  expect_learned(cosines, "table", false, "sines");
  Sequence grid =
      with_table(filled({32, 16}, [](auto i) { return i % 2 == 0 ? double(i / 16) : double(i % 4); }));
  expect_learned(grid, "table", false, "table");
}

TEST(OnnxLearned, AnchorsAreNot) {
  Sequence m;
  m.floats("anchors", {8, 2}, {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198});
  m.integers("pairs", {-1, 8, 8, 2}), m.integers("back", {-1, 8, 16});
  m.node("Reshape", {"e", "pairs"}, {"p"});
  m.node("Mul", {"p", "anchors"}, {"scaled"});
  m.node("Reshape", {"scaled", "back"}, {"h"});
  expect_learned(m, "anchors", false, "table");
}

TEST(OnnxLearned, FrequenciesOfRotationsAreNot) {
  Sequence m;
  m.floats("inverse", {1, 16}, filled({16}, [](auto i) { return std::pow(10000, -double(i) / 16); }));
  m.integers("index", {0, 1, 2, 3, 4, 5, 6, 7}), m.integers("column", {8, 1});
  m.attribute(m.node("Cast", {"index"}, {"places"}), "to", std::int64_t{TensorProto::FLOAT});
  m.node("Reshape", {"places", "column"}, {"rows"});
  m.node("MatMul", {"rows", "inverse"}, {"angles"});
  m.node("Cos", {"angles"}, {"cos"});
  m.node("Mul", {"e", "cos"}, {"h"});
  expect_learned(m, "inverse", false, "sines");
}

// Sines and cosines of the input itself. A sine as an activation, or behind another layer, has learned
// weights.
TEST(OnnxLearned, FrequenciesOfFourierFeaturesAreNot) {
  const auto waves = [](const std::string& data, const std::vector<const char*>& functions, bool bias) {
    Sequence m;
    m.store("frequencies", {16, 16}), m.store("b", {16});
    m.node("MatMul", {data, "frequencies"}, {"angles"});
    m.node("Add", {"angles", "b"}, {"shifted"});
    m.node("Identity", {"e"}, {"sum0"});
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const std::string at = std::to_string(i),
                        sum = i + 1 == functions.size() ? "h" : "sum" + std::to_string(i + 1);
      m.node(functions[i], {bias ? "shifted" : "angles"}, {"wave" + at});
      m.node("Add", {"sum" + at, "wave" + at}, {sum});
    }
    return m;
  };
  Sequence features = waves("x", {"Sin", "Cos"}, false), siren = waves("x", {"Sin"}, false),
           biased = waves("x", {"Sin", "Cos"}, true), deeper = waves("e", {"Sin", "Cos"}, false);
  expect_learned(features, "frequencies", false, "sines");
  expect_learned(siren, "frequencies", true);
  expect_learned(biased, "frequencies", true);
  expect_learned(deeper, "frequencies", true);
}

// x[:, None] - centres compares each item with many; a constant that normalises has at most the item's own
// axes.
TEST(OnnxLearned, CentresOfTheInputAre) {
  const auto minus = [](const Dims& dims) {
    Sequence m;
    m.graph.clear_node();
    m.store("centres", dims);
    m.integers("axis", {1});
    m.node("Unsqueeze", {"x", "axis"}, {"wide"});
    m.node("Sub", {"wide", "centres"}, {"apart"});
    m.attribute(m.node("ReduceL2", {"apart"}, {"length"}), "axes", Dims{1});
    m.node("Squeeze", {"length", "axis"}, {"flat"});
    m.node("MatMul", {"flat", "W"}, {"h"});
    return m;
  };
  Sequence many = minus({5, 8, 16}), mean = minus({1, 8, 16});
  expect_learned(many, "centres", true);
  expect_learned(mean, "centres", false, "normalises");
}

TEST(OnnxLearned, DistancesAddedToScoresAreNot) {
  const auto table = [](double scale, const std::function<double(std::int64_t)>& distance) {
    Sequence m;
    m.floats("t", {8, 8}, filled({8, 8}, [&](auto i) { return scale * distance(i / 8 - i % 8); }));
    add_to_scores(m, "t");
    return m;
  };
  const auto apart = [](std::int64_t d) { return double(std::abs(d)); };
  Sequence alibi = table(-0.5, apart), odd = table(-0.396850263, apart),
           before = table(-0.25, [](std::int64_t d) { return double(std::max<std::int64_t>(d, 0)); });
  expect_learned(alibi, "t", false, "table");
  expect_learned(odd, "t", false, "table");
  expect_learned(before, "t", false, "table");
  const Floats found = learned_values({15});
  Sequence learned = table(1, [&](std::int64_t d) { return double(found[std::size_t(d + 7)]); });
  expect_learned(learned, "t", true);
}

TEST(OnnxLearned, BiasAndScaleOfChannels) {
  for (bool in_node : {false, true}) {
    for (const Floats& values : {learned_values({16}), Floats(16, 0), Floats(16, 1e-5f),
                                 filled({16}, [](auto i) { return double(i); })}) {
      Sequence bias;
      in_node ? bias.constant("b", {16}, values) : void(bias.floats("b", {16}, values));
      bias.node("Add", {"e", "b"}, {"h"});
      expect_learned(bias, "b", true);
    }
    for (const Floats& values : {learned_values({16}), Floats(16, 1e-5f), Floats(16, 1)}) {
      Sequence scale;
      in_node ? scale.constant("gamma", {16}, values) : void(scale.floats("gamma", {16}, values));
      scale.node("Tanh", {"e"}, {"t"});
      scale.node("Mul", {"gamma", "t"}, {"h"});
      expect_learned(scale, "gamma", true);
    }
  }
}

TEST(OnnxLearned, SingleNumbers) {
  const auto scaled = [](float value, const char* op, const char* name, bool in_node = false) {
    Sequence m;
    in_node ? m.constant(name, {}, {value}) : void(m.floats(name, {}, {value}));
    m.node(op, {"e", name}, {"h"});
    return m;
  };
  for (float value : {0.125f, 0.17677669f, 8.f, 0.5f, 1.41421356f, 1.702f}) {
    Sequence m = scaled(value, "Mul", "number");
    expect_learned(m, "number", false, "formula");
  }
  Sequence found = scaled(13.8172f, "Mul", "number"), fresh = scaled(1, "Mul", "number"),
           in_node = scaled(13.8172f, "Mul", "number", true), named = scaled(0.07f, "Div", "temperature");
  expect_learned(found, "number", true);
  expect_learned(fresh, "number", true);
  expect_learned(in_node, "number", false, "formula");
  expect_learned(named, "temperature", true);
  Sequence logarithm;  // CLIP's
  logarithm.floats("logit_scale", {}, {2.6592600f});
  logarithm.node("Exp", {"logit_scale"}, {"s"});
  logarithm.node("Mul", {"s", "e"}, {"h"});
  expect_learned(logarithm, "logit_scale", true);
  Sequence epsilon;
  epsilon.floats("eps", {}, {1.2345678e-5f});
  epsilon.node("Mul", {"e", "e"}, {"square"});
  epsilon.node("Add", {"square", "eps"}, {"above"});
  epsilon.node("Sqrt", {"above"}, {"h"});
  expect_learned(epsilon, "eps", false, "formula");
}

}  // namespace
}  // namespace headroom::onnx::testing

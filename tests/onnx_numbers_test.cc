// Numbers at the edges: what ONNX Runtime answers, at run time and where the reader computes the result
// itself.
#include <gtest/gtest.h>

#include <cmath>

#include "support/one_node.h"

namespace headroom::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr std::int64_t kLeast32 = std::numeric_limits<std::int32_t>::min(),
                       kMost32 = std::numeric_limits<std::int32_t>::max(),
                       kLeast64 = std::numeric_limits<std::int64_t>::min(),
                       kMost64 = std::numeric_limits<std::int64_t>::max();

OneNode cast(const Array& from, int to) {
  return {"Cast", {from}, [to](onnx::NodeProto& n) { ModelMaker::set(n, "to", std::int64_t{to}); }};
}

OneNode along(const std::string& op, const Array& x, const Ints& axes, std::int64_t keepdims = 0) {
  return {op,
          {x},
          [=](onnx::NodeProto& n) {
            ModelMaker::set(n, "axes", axes);
            ModelMaker::set(n, "keepdims", keepdims);
          },
          op == "ReduceSum" ? 11 : 17};
}

struct CastCase {
  int to;
  Ints integers;
};

// What does not fit becomes the nearest that does, NaN becomes 0.
TEST(OnnxNumbers, CastsOfFloatsSaturate) {
  const Array x = floats({8}, {kInf, -kInf, kNan, 1e30, -300, 70000, 1.9, -1.9});
  for (const CastCase& c :
       std::vector<CastCase>{{TensorProto::INT8, {127, -128, 0, 127, -128, 127, 1, -1}},
                             {TensorProto::UINT8, {255, 0, 0, 255, 0, 255, 1, 0}},
                             {TensorProto::INT16, {32767, -32768, 0, 32767, -300, 32767, 1, -1}},
                             {TensorProto::UINT16, {65535, 0, 0, 65535, 0, 65535, 1, 0}},
                             {TensorProto::INT32, {kMost32, kLeast32, 0, kMost32, -300, 70000, 1, -1}},
                             {TensorProto::UINT32, {0xFFFFFFFFll, 0, 0, 0xFFFFFFFFll, 0, 70000, 1, 0}},
                             {TensorProto::INT64, {kMost64, kLeast64, 0, kMost64, -300, 70000, 1, -1}},
                             {TensorProto::UINT64, {kMost64, 0, 0, kMost64, 0, 70000, 1, 0}},
                             {TensorProto::BOOL, {1, 1, 1, 1, 1, 1, 1, 1}}}) {
    SCOPED_TRACE(onnx::name_of_type(c.to));
    expect_result(cast(x, c.to), whole({8}, c.integers, c.to));
  }
}

TEST(OnnxNumbers, CastsOfIntegersKeepTheLowBits) {
  const Array narrow = whole({6}, {200, -300, 5, kLeast32, kMost32, 70000}, TensorProto::INT32);
  const Array wide = whole({6}, {200, -300, 5, kLeast64, kMost64, (1ll << 32) + 7});
  for (const CastCase& c :
       std::vector<CastCase>{{TensorProto::INT8, {-56, -44, 5, 0, -1, 112}},
                             {TensorProto::UINT8, {200, 212, 5, 0, 255, 112}},
                             {TensorProto::INT16, {200, -300, 5, 0, -1, 4464}},
                             {TensorProto::UINT16, {200, 65236, 5, 0, 65535, 4464}},
                             {TensorProto::UINT32, {200, 4294966996, 5, 1ll << 31, kMost32, 70000}},
                             {TensorProto::INT64, {200, -300, 5, kLeast32, kMost32, 70000}}}) {
    SCOPED_TRACE(onnx::name_of_type(c.to));
    expect_result(cast(narrow, c.to), whole({6}, c.integers, c.to));
  }
  for (const CastCase& c :
       std::vector<CastCase>{{TensorProto::INT8, {-56, -44, 5, 0, -1, 7}},
                             {TensorProto::INT32, {200, -300, 5, 0, -1, 7}},
                             {TensorProto::UINT32, {200, 4294966996, 5, 0, 0xFFFFFFFFll, 7}}}) {
    SCOPED_TRACE(onnx::name_of_type(c.to));
    expect_result(cast(wide, c.to), whole({6}, c.integers, c.to));
  }
  expect_result(cast(whole({2}, {200, 5}, TensorProto::UINT8), TensorProto::INT8),
                whole({2}, {-56, 5}, TensorProto::INT8));
}

TEST(OnnxNumbers, CastsToSixteenBitsRound) {
  const Array x = floats({7}, {2049, 2051, 65519, -65520, 1e-8, kNan, 0.1f});
  expect_result(cast(x, TensorProto::FLOAT16),
                floats({7}, {2048, 2052, 65504, -kInf, 0, kNan, 0.0999755859375}), {0, 0});
  expect_result(cast(x, TensorProto::BFLOAT16),
                floats({7}, {2048, 2048, 65536, -65536, 1.0011717677116394e-08, kNan, 0.10009765625}),
                {0, 0});
  expect_result(cast(whole({2}, {2049, 70000}), TensorProto::FLOAT16), floats({2}, {2048, kInf}), {0, 0});
  const OneNode like{"CastLike", {floats({2}, {2049, 2051}), floats({1}, {0}, TensorProto::FLOAT16)}};
  expect_result(like, floats({2}, {2048, 2052}), {0, 0});
  const OneNode small{"CastLike", {whole({2}, {200, 5}), whole({1}, {0}, TensorProto::INT8)}};
  expect_result(small, whole({2}, {-56, 5}, TensorProto::INT8));
}

// Too many elements to compute while reading.
TEST(OnnxNumbers, LargeStoredTensorsAreCastTheSameWay) {
  const std::int64_t n = 70000;
  const OneNode node = cast(floats({n}, std::vector<double>(n, 2049)), TensorProto::FLOAT16);
  expect_result(node, floats({n}, std::vector<double>(n, 2048)), {0, 0});
}

TEST(OnnxNumbers, FoldedIntegersWrapAround) {
  const Array x = whole({2}, {kMost32, kLeast32}, TensorProto::INT32),
              y = whole({2}, {1, -1}, TensorProto::INT32);
  expect_result({"Add", {x, y}}, whole({2}, {kLeast32, kMost32}, TensorProto::INT32));
  expect_result({"Mul", {x, x}}, whole({2}, {1, 0}, TensorProto::INT32));
}

TEST(OnnxNumbers, ZerosHaveANormOfZero) {
  for (const std::int64_t p : {1, 2}) {
    const OneNode node{"LpNormalization", {floats({2, 2}, {3, 4, 0, 0})}, [p](onnx::NodeProto& n) {
                         ModelMaker::set(n, "p", p);
                       }};
    expect_result(node, floats({2, 2}, p == 1 ? std::vector<double>{3 / 7.0, 4 / 7.0, 0, 0}
                                              : std::vector<double>{0.6, 0.8, 0, 0}));
  }
}

// A step on zeros alone: a gradient that is not finite would reach the weights.
TEST(OnnxNumbers, ZerosOfANormHaveFiniteGradients) {
  for (const std::int64_t p : {1, 2}) {
    ModelMaker m(17);
    m.input("x", {"N", "4"});
    store(m, "w", floats({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    ModelMaker::set(m.node("Gemm", {"x", "w"}, {"h"}), "transB", std::int64_t{1});
    ModelMaker::set(m.node("LpNormalization", {"h"}, {"y"}), "p", p);
    m.graph.add_output()->set_name("y");
    const auto device = open_device("cpu", 1);
    Engine engine(net_of(m), *device, {});
    Engine::Ready& ready = engine.ready(Mode::train, 2);
    engine.set_learning_rate(0.1);
    const std::vector<float> images(8, 0);
    const std::vector<std::int32_t> labels(2, 1);
    engine.train_step(ready, images.data(), labels.data(), 1);
    std::vector<float> weights(12);
    engine.storage().read("w", weights.data(), weights.size() * sizeof(float));
    for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight)) << p;
  }
}

TEST(OnnxNumbers, LogSumExpOfInfinities) {
  const Array x = floats({5, 2}, {-kInf, -kInf, kInf, 1, -kInf, 2, 1000, 1000, kNan, 1});
  for (const std::int64_t keep : {0, 1})
    expect_result(along("ReduceLogSumExp", x, {1}, keep),
                  floats(keep ? Shape{5, 1} : Shape{5}, {-kInf, kInf, 2, 1000 + std::log(2.0), kNan}));
}

TEST(OnnxNumbers, ReductionsOfIntegersAreExact) {
  const auto check = [](const std::string& op, int type, const Ints& x, const Ints& want) {
    SCOPED_TRACE(op);
    const auto rows = static_cast<std::int64_t>(want.size()), n = static_cast<std::int64_t>(x.size()) / rows;
    expect_result(along(op, whole({rows, n}, x, type), {1}), whole({rows}, want, type));
  };
  const Ints narrow = {kLeast32, 5, 7, kMost32, -3, 2};
  check("ReduceMin", TensorProto::INT32, narrow, {kLeast32, -3});
  check("ReduceMax", TensorProto::INT32, narrow, {7, kMost32});
  check("ReduceSum", TensorProto::INT32, {kLeast32, 5, 7, kMost32, 1, 2}, {kLeast32 + 12, kLeast32 + 2});
  const Ints wide = {kLeast64, 5, 7, kMost64, kMost64 - 1, (1ll << 53) + 1};
  check("ReduceMin", TensorProto::INT64, wide, {kLeast64, (1ll << 53) + 1});
  check("ReduceMax", TensorProto::INT64, wide, {7, kMost64});
  check("ReduceSum", TensorProto::INT64, {(1ll << 53) + 1, 0, 0, 1, 2, 3}, {(1ll << 53) + 1, 6});
  check("ReduceMean", TensorProto::INT64, Ints(49, 1), {1});
  check("ReduceMean", TensorProto::INT32, {-7, 4, 1, 9}, {-1, 5});
  check("ReduceMin", TensorProto::INT8, {-128, 127, 5, 6}, {-128, 5});
}

TEST(OnnxNumbers, PlacesOfExtremeIntegers) {
  for (const auto& [type, least, most] :
       {std::tuple<int, std::int64_t, std::int64_t>(TensorProto::INT32, kLeast32, kMost32),
        {TensorProto::INT64, kLeast64, kMost64}}) {
    const Array x = whole({2, 3}, {0, least, least + 1, most - 1, most, -1}, type);
    const auto set = [](onnx::NodeProto& n) {
      ModelMaker::set(n, "axis", std::int64_t{1});
      ModelMaker::set(n, "keepdims", std::int64_t{0});
    };
    expect_result({"ArgMin", {x}, set}, whole({2}, {1, 2}));
    expect_result({"ArgMax", {x}, set}, whole({2}, {0, 1}));
  }
}

TEST(OnnxNumbers, MaxAndMinPropagateNan) {
  const Array a = floats({4}, {kNan, 1, 3, kNan}), b = floats({4}, {1, kNan, 2, kNan}),
              c = floats({4}, {0, 0, 5, 0});
  expect_result({"Max", {a}}, a);
  expect_result({"Max", {a, b}}, floats({4}, {kNan, kNan, 3, kNan}));
  expect_result({"Min", {a, b}}, floats({4}, {kNan, kNan, 2, kNan}));
  expect_result({"Max", {c, a, b}}, floats({4}, {kNan, kNan, 5, kNan}));
  expect_result({"Min", {a, b, c}}, floats({4}, {kNan, kNan, 2, kNan}));
  expect_result({"Max", {b, c, a}}, floats({4}, {kNan, kNan, 5, kNan}));
}

TEST(OnnxNumbers, ReluTakesIntegers) {
  for (const int type : {TensorProto::INT32, TensorProto::INT64})
    expect_result({"Relu", {whole({3}, {200, -300, 0}, type)}}, whole({3}, {200, 0, 0}, type));
}

void expect_index_refused(const OneNode& node, const std::string& index) {
  for (const bool all_stored : {false, true}) {
    SCOPED_TRACE(fmt::format("{}{}", node.op, all_stored ? ", all stored" : ""));
    expect_rejected([&] { node.run(all_stored); }, {"'n'", "index " + index + " "});
  }
}

void on_axis_1(onnx::NodeProto& n) { ModelMaker::set(n, "axis", std::int64_t{1}); }

TEST(OnnxNumbers, GathersTakeIndicesFromEitherEnd) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const int type : {TensorProto::INT32, TensorProto::INT64}) {
    expect_result({"GatherElements", {x, whole({2, 2}, {-1, 0, 2, -3}, type)}, on_axis_1},
                  floats({2, 2}, {3, 1, 6, 4}));
    if (type == TensorProto::INT32) continue;  // the format has GatherND for int64 only
    expect_result({"GatherND", {x, whole({3, 2}, {1, -1, -2, 0, 0, 1}, type)}}, floats({3}, {6, 1, 2}));
    expect_result({"GatherND", {x, whole({2, 1}, {-1, 0}, type)}}, floats({2, 3}, {4, 5, 6, 1, 2, 3}));
  }
}

TEST(OnnxNumbers, GathersRefuseIndicesOutside) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const std::int64_t bad : {3, -4, 1000}) {
    const std::string text = std::to_string(bad);
    expect_index_refused({"GatherElements", {x, whole({2, 2}, {0, 1, bad, 2})}, on_axis_1}, text);
    expect_index_refused({"GatherND", {x, whole({2, 2}, {1, 2, 0, bad})}}, text);
    expect_index_refused({"GatherND", {x, whole({2, 1}, {0, bad})}}, text);
    expect_index_refused({"Gather", {x, whole({2}, {0, bad})}, on_axis_1}, text);
  }
}

TEST(OnnxNumbers, ScattersRefuseIndicesOutside) {
  const Array x = floats({4}, {1, 2, 3, 4}), updates = floats({2}, {8, 9});
  const auto refused = [&](OneNode node) { expect_rejected([&] { node.run(true); }, {"'n'", "index 4 "}); };
  refused({"ScatterElements", {x, whole({2}, {0, 4}), updates}});
  refused({"ScatterND", {x, whole({2, 1}, {0, 4}), updates}});
}

// PyTorch writes local response normalisation as means over three axes, with windows over the first alone.
TEST(OnnxNumbers, MeansOverThreeAxes) {
  const auto mean = [](const Ints& kernel, const Ints& pads, std::int64_t counted) {
    return OneNode{"AveragePool",
                   {floats({1, 1, 3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
                   [=](onnx::NodeProto& n) {
                     ModelMaker::set(n, "kernel_shape", kernel);
                     ModelMaker::set(n, "pads", pads);
                     ModelMaker::set(n, "count_include_pad", counted);
                   }};
  };
  expect_result(mean({2, 1, 1}, {0, 0, 0, 0, 0, 0}, 0), floats({1, 1, 2, 2, 2}, {3, 4, 5, 6, 7, 8, 9, 10}));
  expect_result(mean({2, 1, 1}, {1, 0, 0, 0, 0, 0}, 1),
                floats({1, 1, 3, 2, 2}, {0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  expect_result(mean({2, 1, 1}, {1, 0, 0, 0, 0, 0}, 0),
                floats({1, 1, 3, 2, 2}, {1, 2, 3, 4, 3, 4, 5, 6, 7, 8, 9, 10}));
  expect_result(mean({2, 1, 2}, {0, 0, 0, 0, 0, 0}, 0), floats({1, 1, 2, 2, 1}, {3.5, 5.5, 7.5, 9.5}));
  expect_rejected([&] { mean({2, 1, 1}, {0, 1, 0, 0, 1, 0}, 0).run(false); }, {"only padding", "height"});
}

}  // namespace
}  // namespace headroom::testing

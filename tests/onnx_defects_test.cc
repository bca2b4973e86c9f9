// The small files that once showed a defect, in the data folder: each command, and what ONNX Runtime answers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "data/npy.h"
#include "data/tensor_values.h"
#include "support/onnx_rules.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

fs::path defects() {
  const char* set = std::getenv("HEADROOM_DATA");
  return (set != nullptr ? fs::path(set) : fs::path(HEADROOM_SOURCE_DIR) / "../shared/data") / "onnx" /
         "defects";
}

struct OnnxDefects : ProgramTest {
  void SetUp() override {
    if (!fs::is_directory(defects()))
      GTEST_SKIP() << "no folder " << defects().string() << "; set HEADROOM_DATA";
  }
  static std::string at(const std::string& name) { return (defects() / name).string(); }

  std::vector<double> answer(const std::string& model, const std::vector<std::string>& arrays) {
    Words words = {"run", at(model), "--output", "out"};
    for (const std::string& array : arrays) words.insert(words.end(), {"--input", array});
    succeed(words);
    std::vector<double> values;
    for (const auto& entry : fs::directory_iterator(file("out"))) values = values_of(read_npy(entry.path()));
    fs::remove_all(file("out"));
    return values;
  }

  NamedTensor whole(const Shape& shape, std::int64_t step, std::int64_t range) {
    NamedTensor t{"", {shape, DType::i64}, {}};
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      const std::int64_t value = i * step % range + 1;
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      t.bytes.insert(t.bytes.end(), bytes, bytes + sizeof value);
    }
    return t;
  }
};

TEST_F(OnnxDefects, Numbers) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  struct Known {
    std::string model;
    std::vector<std::string> arrays;
    std::vector<double> want;
  };
  for (const Known& k :
       std::vector<Known>{{"lpnorm_zero.onnx", {at("lpnorm_zero.x.npy")}, {0.6, 0.8, 0, 0, 0, 0}},
                          {"logsumexp_inf.onnx", {at("logsumexp_inf.x.npy")}, {-inf, inf}},
                          {"reducemin_int32.onnx", {at("reducemin_int32.x.npy")}, {-2147483648.0}},
                          {"cast_narrow.onnx", {at("i3.npy")}, {-56, -44, 5}},
                          {"relu_int.onnx", {at("i3.npy")}, {200, 0, 5}},
                          {"fold_nan_max.onnx", {at("zeros4.npy")}, {nan, nan, 3, nan}},
                          {"fold_nan_min.onnx", {at("zeros4.npy")}, {nan, nan, 2, nan}}}) {
    SCOPED_TRACE(k.model);
    const std::vector<double> got = answer(k.model, k.arrays);
    ASSERT_EQ(got.size(), k.want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == k.want[i] || (std::isnan(got[i]) && std::isnan(k.want[i])) ||
                  std::abs(got[i] - k.want[i]) < 1e-6)
          << i << ": " << got[i];
  }
}

TEST_F(OnnxDefects, CastsOfInfinitiesDoNotStopANetwork) {
  EXPECT_EQ(answer("t5_bucket_cast.onnx", {at("t5_bucket_cast.x.npy")}).size(), 36u);
  write_npy(file("ids.npy"), whole({2, 11}, 7, 50));
  write_npy(file("mask.npy"), whole({2, 11}, 0, 1));
  write_npy(file("start.npy"), whole({2, 5}, 3, 40));
  for (const double value : answer("hf_t5-17.onnx", {"ids.npy", "mask.npy", "start.npy"}))
    EXPECT_TRUE(std::isfinite(value));
}

TEST_F(OnnxDefects, WrittenFilesKeepTheRules) {
  for (const std::string name : {"lstm_initial", "convtranspose", "rnn", "layernorm_mean", "pool_ceil"}) {
    SCOPED_TRACE(name);
    succeed({"model", "export", at("export_" + name + ".onnx"), "-o", "e.onnx"});
    expect_keeps_rules(read_file(file("e.onnx")));
    succeed({"model", "show", "e.onnx"});
  }
}

TEST_F(OnnxDefects, Refusals) {
  expect_refused({"run", at("ge.onnx"), "--input", at("gx.npy"), "--input", at("gi.npy")},
                 {"'GatherElements_0'", "index 4 ", "4 elements"});
  for (const Words& verb : {Words{"bench", "forward"}, {"bench", "nets"}}) {
    Words words = verb;
    words.push_back(at("unknown_op.onnx"));
    expect_refused(words,
                   {"'unknown_op.onnx' cannot be run", "Frobnicate ('Frobnicate_0')", "no such operator"});
  }
}

TEST_F(OnnxDefects, GapsAreReportedByName) {
  const Json json = succeed_json({"model", "show", at("unknown_op.onnx")});
  ASSERT_EQ(json["unknown"].size(), 1u);
  EXPECT_EQ(json["unknown"][0]["operator"], "Frobnicate");
}

TEST_F(OnnxDefects, NewOperatorSetsAndVolumesAreRead) {
  for (const char* name : {"opset24_relu.onnx", "attention23.onnx", "gap_count.onnx"})
    EXPECT_FALSE(succeed_json({"model", "show", at(name)}).contains("unknown")) << name;
}

}  // namespace
}  // namespace headroom::testing

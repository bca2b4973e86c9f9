// Sizes that depend on the data: a detector with NonMaxSuppression at its end (golden/make_detector.py), what
// may follow such an operator, and requests that are wrong.
#include <gtest/gtest.h>

#include "base/json.h"
#include "models/onnx/onnx.pb.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

struct OnnxDetector : ProgramTest {
  using ProgramTest::put;
  std::string golden(const std::string& name) const {
    return (std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests" / "golden" / "detector" / name).string();
  }
};

using Shapes = std::vector<std::vector<std::int64_t>>;

Shapes shapes_of(const Json& json) {
  Shapes shapes;
  for (const Json& output : json["outputs"])
    shapes.push_back(output["shape"].get<std::vector<std::int64_t>>());
  return shapes;
}

TEST_F(OnnxDetector, AnswersAsOnnxruntimeDoes) {
  const Json json = succeed_json({"run", "--cases", golden("")});
  EXPECT_EQ(json["passed"], 2);
  EXPECT_EQ(json["failed"], 0);
}

TEST_F(OnnxDetector, OutputsAreAsLongAsTheDataSay) {
  const auto shapes = [&](const std::string& image, const Words& more = {}) {
    Words words = {"run", golden("model.onnx"), "--input", golden(image)};
    words.insert(words.end(), more.begin(), more.end());
    return shapes_of(succeed_json(words));
  };
  EXPECT_EQ(shapes("test_data_set_0/input_0.pb"), (Shapes{{22, 6}, {22, 3}}));
  EXPECT_EQ(shapes("test_data_set_1/input_0.pb"), (Shapes{{0, 6}, {0, 3}})) << "nothing is found in black";
  EXPECT_EQ(shapes("test_data_set_0/input_0.pb", {"--output", "results"}), (Shapes{{22, 6}, {22, 3}}));
  EXPECT_GT(std::filesystem::file_size(file("results/detections.npy")), 22 * 6 * sizeof(float));
}

// One node after another, each reading what the one before made; x is the input.
class Chain {
 public:
  Chain(std::vector<std::int64_t> dims, std::vector<float> elements) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(18);
    onnx::ValueInfoProto& input = *model_.mutable_graph()->add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(TensorProto::FLOAT);
    for (std::int64_t d : dims) type.mutable_shape()->add_dim()->set_dim_value(d), x_.add_dims(d);
    x_.set_data_type(TensorProto::FLOAT);
    x_.set_raw_data(elements.data(), elements.size() * sizeof(float));
  }
  std::string integers(const std::vector<std::int64_t>& elements) {
    TensorProto& t = *model_.mutable_graph()->add_initializer();
    t.set_name(fmt::format("i{}", ++made_)), t.set_data_type(TensorProto::INT64);
    t.add_dims(static_cast<std::int64_t>(elements.size()));
    t.set_raw_data(elements.data(), elements.size() * sizeof(std::int64_t));
    return t.name();
  }
  std::string reals(const std::vector<float>& elements) {
    TensorProto& t = *model_.mutable_graph()->add_initializer();
    t.set_name(fmt::format("r{}", ++made_)), t.set_data_type(TensorProto::FLOAT);
    t.add_dims(static_cast<std::int64_t>(elements.size()));
    t.set_raw_data(elements.data(), elements.size() * sizeof(float));
    return t.name();
  }
  std::string node(const std::string& op, const std::vector<std::string>& in, const Words& texts = {},
                   std::int64_t axis = -100) {
    NodeProto& n = *model_.mutable_graph()->add_node();
    n.set_op_type(op), n.set_name("the_" + op);
    for (const std::string& name : in) n.add_input(name);
    n.add_output(fmt::format("y{}", ++made_));
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
      AttributeProto& a = *n.add_attribute();
      a.set_name(texts[i]), a.set_type(AttributeProto::STRING), a.set_s(texts[i + 1]);
    }
    if (axis != -100) {
      AttributeProto& a = *n.add_attribute();
      a.set_name("axis"), a.set_type(AttributeProto::INT), a.set_i(axis);
    }
    return n.output(0);
  }
  Words run(const OnnxDetector& test, const std::string& output) {
    model_.mutable_graph()->add_output()->set_name(output);
    return {"run", test.put("chain.onnx", model_.SerializeAsString()).string(), "--input",
            test.put("x.pb", x_.SerializeAsString()).string()};
  }

 private:
  onnx::ModelProto model_;
  TensorProto x_;
  int made_ = 0;
};

const std::vector<float> kSix = {0, 5, 0, 7, 8, 0};

TEST_F(OnnxDetector, RowByRowOperatorsKeepTheTrueSize) {
  Chain c({2, 3}, kSix);
  std::string y = c.node("NonZero", {"x"});                                     // [2, 3 of 6]
  y = c.node("Transpose", {y});                                                 // [3, 2]
  y = c.node("GatherND", {"x", y});                                             // [3]: 5 7 8
  y = c.node("Mul", {y, c.reals({2})});                                         // 10 14 16
  y = c.node("Unsqueeze", {y, c.integers({0})});                                // [1, 3]
  y = c.node("Concat", {y, y}, {}, 0);                                          // [2, 3]
  y = c.node("Reshape", {y, c.integers({2, -1, 1})});                           // [2, 3, 1]
  y = c.node("Slice", {y, c.integers({0}), c.integers({2}), c.integers({1})});  // [2, 2, 1]
  const Json json = succeed_json(c.run(*this, y));
  EXPECT_EQ(shapes_of(json), (Shapes{{2, 2, 1}}));
  EXPECT_EQ(json["outputs"][0]["values"], (std::vector<double>{10, 14, 10, 14}));
}

TEST_F(OnnxDetector, WhatNeedsTheTrueSizeIsANamedGap) {
  const auto refused = [&](const std::string& op, const std::vector<std::string>& more) {
    Chain c({2, 3}, kSix);
    std::vector<std::string> in = {c.node("NonZero", {"x"})};
    in.insert(in.end(), more.begin(), more.end());
    expect_refused(c.run(*this, c.node(op, in)), {op, "the_" + op, "the size of 'y1' depends on the data"});
  };
  refused("Shape", {});
  refused("CumSum", {"x"});
  refused("ReduceSum", {});
  refused("Where", {"x", "x"});
}

TEST_F(OnnxDetector, WrongRequestsNameTheNode) {
  Chain many({2, 3}, kSix);
  expect_refused(many.run(*this, many.node("TopK", {"x", many.integers({4})})),
                 {"'the_TopK' (TopK)", "k is 4", "3 elements"});
  const std::vector<float> image(16, 1);
  Chain grid({1, 1, 4, 4}, image);
  const std::string points = grid.node("Reshape", {grid.reals({0, 0}), grid.integers({1, 1, 1, 2})});
  expect_refused(grid.run(*this, grid.node("GridSample", {"x", points}, {"mode", "cube"})),
                 {"'the_GridSample' (GridSample)", "mode 'cube'", "linear, nearest, cubic"});
  Chain roi({1, 1, 4, 4}, image);
  const std::string regions = roi.node("Reshape", {roi.reals({0, 0, 1, 1}), roi.integers({1, 4})});
  expect_refused(roi.run(*this, roi.node("RoiAlign", {"x", regions, roi.integers({0})}, {"mode", "mean"})),
                 {"'the_RoiAlign' (RoiAlign)", "mode 'mean'", "avg or max"});
  Chain outside({1, 1, 4, 4}, image);
  const std::string region = outside.node("Reshape", {outside.reals({0, 0, 1, 1}), outside.integers({1, 4})});
  expect_refused(outside.run(*this, outside.node("RoiAlign", {"x", region, outside.integers({3})})),
                 {"the_RoiAlign", "index 3", "1 elements"});
  Chain boxes({1, 2, 4}, {0, 0, 1, 1, 0, 0, 2, 2});
  const std::string scores = boxes.node("Reshape", {boxes.reals({1, 2}), boxes.integers({1, 1, 2})});
  expect_refused(boxes.run(*this, boxes.node("NonMaxSuppression",
                                             {"x", scores, boxes.integers({1}), boxes.reals({1.5F})})),
                 {"'the_NonMaxSuppression' (NonMaxSuppression)", "iou_threshold is 1.5", "between 0 and 1"});
  Chain flat({2, 4}, {0, 0, 1, 1, 0, 0, 2, 2});
  expect_refused(flat.run(*this, flat.node("NonMaxSuppression", {"x", "x"})),
                 {"'the_NonMaxSuppression' (NonMaxSuppression)", "boxes 2x4", "[N, B, 4]"});
  Chain rows({2, 3}, kSix);
  expect_refused(
      rows.run(*this, rows.node("ScatterND",
                                {"x", rows.node("Reshape", {rows.integers({5}), rows.integers({1, 1})}),
                                 rows.node("Reshape", {rows.reals({1, 2, 3}), rows.integers({1, 3})})},
                                {"reduction", "add"})),
      {"'the_ScatterND' (ScatterND)", "index 5", "2 elements"});
  Chain word({2, 3}, kSix);
  expect_refused(
      word.run(*this, word.node("ScatterND",
                                {"x", word.node("Reshape", {word.integers({1}), word.integers({1, 1})}),
                                 word.node("Reshape", {word.reals({1, 2, 3}), word.integers({1, 3})})},
                                {"reduction", "mean"})),
      {"'the_ScatterND' (ScatterND)", "reduction 'mean'", "none, add, mul, max, min"});
}

}  // namespace
}  // namespace headroom::testing

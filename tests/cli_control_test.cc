// Branches and loops of ONNX files through the program: followed, trained, bounded, and refused by name.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "data/npy.h"
#include "models/onnx/testing/model_maker.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using onnx::testing::ModelMaker;

struct CliControl : ProgramTest {
  static std::vector<float> drawn(std::int64_t count, double scale, std::uint64_t stream) {
    const Philox random(7, stream);
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(scale * random.normal(static_cast<std::uint64_t>(i))));
    return values;
  }

  static void truth(ModelMaker& m, const std::string& name, bool value) {
    TensorProto& t = *m.graph.add_initializer();
    t.set_name(name), t.set_data_type(TensorProto::BOOL), t.set_raw_data(std::string(1, value ? 1 : 0));
  }

  static void set_graph(onnx::NodeProto& node, const std::string& name, const ModelMaker& body) {
    *ModelMaker::attribute(node, name, AttributeProto::GRAPH).mutable_g() = body.graph;
  }

  // Trip number, condition and h in; the condition `next`, which its nodes make, and h2 out.
  static ModelMaker loop_body() {
    ModelMaker body;
    body.input("trip", {}, TensorProto::INT64);
    body.input("on", {}, TensorProto::BOOL);
    body.input("h", {});
    body.output("next", {}, TensorProto::BOOL);
    body.output("h2");
    return body;
  }

  void write_array(const std::string& name, const Shape& shape, const std::vector<float>& values) const {
    NamedTensor t{name, {shape, DType::f32}, {}};
    t.bytes.resize(values.size() * sizeof(float));
    std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
    write_npy(file(name), t);
  }

  // y = x * 2 for each trip; the trip count is stored, or the input `count`.
  ModelMaker doubling(std::optional<std::int64_t> trips) const {
    ModelMaker m(16), body = loop_body();
    body.node("Identity", {"on"}, {"next"});
    body.node("Add", {"h", "h"}, {"h2"});
    m.input("x", {"1", "2"});
    if (trips)
      m.integers("count", {*trips});
    else
      m.input("count", {}, TensorProto::INT64);
    truth(m, "yes", true);
    set_graph(m.node("Loop", {"count", "yes", "x"}, {"y"}), "body", body);
    m.output("y");
    return m;
  }
};

// The weight of the body is one parameter, however often the body runs.
TEST_F(CliControl, ALoopLearnsAndIsWritten) {
  ModelMaker m(16), body = loop_body();
  body.node("Identity", {"on"}, {"next"});
  body.floats("again", {16, 16}, drawn(256, 0.3, 1));
  body.node("MatMul", {"h", "again"}, {"sum"});
  body.node("Tanh", {"sum"}, {"h2"});
  m.input("image", {"N", "1", "28", "28"});
  m.node("Flatten", {"image"}, {"flat"});
  m.floats("first", {784, 16}, drawn(784 * 16, 0.05, 2));
  m.node("MatMul", {"flat", "first"}, {"start"});
  m.integers("count", {3});
  truth(m, "yes", true);
  set_graph(m.node("Loop", {"count", "yes", "start"}, {"end"}), "body", body);
  m.floats("last", {16, 10}, drawn(160, 0.3, 3));
  m.node("MatMul", {"end", "last"}, {"scores"});
  m.output("scores", {"N", "10"});
  put("loop.onnx", m.bytes());
  EXPECT_EQ(succeed_json({"model", "show", "loop.onnx"})["parameters"], 784 * 16 + 16 * 16 + 16 * 10);
  const Json json =
      succeed_json({"train", "loop.onnx", "--train-size", "1280", "--test-size", "200", "--batch", "32",
                    "--epochs", "2", "--lr", "0.05", "--save-onnx", "trained.onnx"});
  const double accuracy = json["accuracy"]["test"];
  EXPECT_GT(accuracy, 0.3) << "guesses are right once in ten";
  const Json again = succeed_json({"eval", "trained.onnx", "--test-size", "200", "--batch", "32"});
  EXPECT_EQ(again["accuracy"]["test"].get<double>(), accuracy);
}

TEST_F(CliControl, TheArraysTellHowOftenALoopRuns) {
  put("loop.onnx", doubling(std::nullopt).bytes());
  write_array("x.npy", {1, 2}, {1, 3});
  write_array("y.npy", {1, 2}, {32, 96});
  NamedTensor count{"count", {{}, DType::i64}, std::vector<std::byte>(8)};
  count.bytes[0] = std::byte{5};
  write_npy(file("count.npy"), count);
  succeed({"run", "loop.onnx", "--input", "x=x.npy", "--input", "count=count.npy", "--expect", "y.npy"});
  const Json json = succeed_json({"model", "show", "loop.onnx"});
  ASSERT_EQ(json["unknown"].size(), 1u);
  EXPECT_NE(json["unknown"][0]["reason"].get<std::string>().find("'count' depends on the data"),
            std::string::npos);
}

// A network that computes how often its loop runs, at most three times.
TEST_F(CliControl, AMinimumBoundsALoop) {
  for (const auto& [first, want] : {std::pair(1.0F, 2.0F), {2.0F, 8.0F}, {9.0F, 72.0F}, {-1.0F, -1.0F}}) {
    ModelMaker m = doubling(3);
    ModelMaker::set(m.node("Cast", {"x"}, {"whole"}), "to", std::int64_t{TensorProto::INT64});
    ModelMaker::set(m.node("ReduceMax", {"whole"}, {"most"}), "keepdims", std::int64_t{0});
    m.node("Min", {"count", "most"}, {"trips"});
    m.graph.mutable_node(0)->set_input(0, "trips");
    put("loop.onnx", m.bytes());
    write_array("x.npy", {1, 2}, {first, -3});
    write_array("y.npy", {1, 2}, {want, -3 * want / first});
    succeed({"run", "loop.onnx", "--input", "x.npy", "--expect", "y.npy"});
  }
}

TEST_F(CliControl, LoopsWithoutEndAreRefused) {
  write_array("x.npy", {1, 2}, {1, 3});
  put("long.onnx", doubling(std::int64_t{1} << 62).bytes());
  expect_refused({"run", "long.onnx", "--input", "x.npy"}, {"Loop", "2 nodes", "65536"});
  ModelMaker endless = doubling(1);
  endless.graph.mutable_node(0)->set_input(0, "");
  put("endless.onnx", endless.bytes());
  expect_refused({"run", "endless.onnx", "--input", "x.npy"}, {"a Loop without end"});
  put("some.onnx", doubling(4).bytes());
  succeed({"run", "some.onnx", "--input", "x.npy"});
}

TEST_F(CliControl, BranchesThatTheDataSelectMustAgree) {
  write_array("x.npy", {1, 2}, {-1, 3});
  for (const bool agree : {true, false}) {
    ModelMaker m(16), yes, no;
    yes.node("Neg", {"x"}, {"a"});
    yes.output("a");
    no.node(agree ? "Relu" : "ReduceSum", {"x"}, {"b"});
    no.output("b");
    m.input("x", {"1", "2"});
    m.node("ReduceSum", {"x"}, {"sum"});
    m.floats("limit", {1, 1}, {0});
    m.node("Less", {"sum", "limit"}, {"is_less"});
    onnx::NodeProto& node = m.node("If", {"is_less"}, {"y"});
    set_graph(node, "then_branch", yes);
    set_graph(node, "else_branch", no);
    m.output("y");
    put("if.onnx", m.bytes());
    write_array("y.npy", {1, 2}, {0, 3});
    if (agree)
      succeed({"run", "if.onnx", "--input", "x.npy", "--expect", "y.npy"});
    else
      expect_refused({"run", "if.onnx", "--input", "x.npy"},
                     {"If", "decide between 1x2 of fp32 and 1x1 of fp32"});
  }
}

TEST_F(CliControl, SequencesAreRefusedByName) {
  ModelMaker m(16);
  m.input("x", {"1", "2"});
  m.node("SequenceConstruct", {"x", "x"}, {"list"});
  m.node("ConcatFromSequence", {"list"}, {"y"});
  m.output("y");
  put("list.onnx", m.bytes());
  write_array("x.npy", {1, 2}, {-1, 3});
  expect_refused({"run", "list.onnx", "--input", "x.npy"}, {"SequenceConstruct", "sequences and optional"});
}

}  // namespace
}  // namespace headroom::testing

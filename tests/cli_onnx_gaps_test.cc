// Networks with nodes that cannot be run, from the user's side: every verb names them in the same way.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/npy.h"
#include "support/one_node.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliOnnxGaps : ProgramTest {
  void put_model(const std::string& name, const ModelMaker& m) { put(name, m.bytes()); }

  // Two unknown kinds, one of them twice.
  static ModelMaker three_gaps() {
    ModelMaker m(18);
    m.input("x", {"1", "1", "8", "8"});
    for (const auto& [op, in, out] :
         {std::tuple("Frob", "x", "a"), {"Nicate", "a", "b"}, {"Frob", "b", "y"}}) {
      m.node(op, {in}, {out}).set_name(std::string("node_") + out);
      ModelMaker::set_type(*m.graph.add_value_info(), out, {"1", "1", "8", "8"}, TensorProto::FLOAT);
    }
    m.output("y", {"1", "1", "8", "8"});
    return m;
  }
};

TEST_F(CliOnnxGaps, MessagesCountNodesByOperator) {
  put_model("gaps.onnx", three_gaps());
  write_npy(file("x.npy"), floats({1, 1, 8, 8}, std::vector<double>(64, 1)).tensor(""));
  const Words parts = {"'gaps.onnx' cannot be run", "Frob ('node_a')", "no such operator",
                       "2 Frob, 1 Nicate"};
  expect_refused({"run", "gaps.onnx", "--input", "x.npy"}, parts);
  expect_refused({"model", "export", "gaps.onnx", "-o", "e.onnx"}, parts);
  expect_refused({"bench", "forward", "gaps.onnx"}, parts);
  expect_refused({"bench", "forward", "gaps.onnx", "--step"}, parts);
  expect_refused({"bench", "nets", "gaps.onnx"}, parts);
}

// What is not known has no time: it widens what is, and alone it is no zero.
TEST_F(CliOnnxGaps, PredictionsOfWhatIsKnownAreWider) {
  put_model("gaps.onnx", three_gaps());
  const std::string all_gaps = succeed({"predict", "gaps.onnx", "--machine", "h200"}).out;
  for (const char* bad : {"-9,223", " inf ", " nan "})
    EXPECT_EQ(all_gaps.find(bad), std::string::npos) << all_gaps;
  const Outcome csv = succeed({"predict", "gaps.onnx", "--machine", "h200", "--csv"});
  EXPECT_NE(csv.err.find("Frob"), std::string::npos)
      << "a table of numbers alone would hide them: " << csv.err;
  ModelMaker known(18), part(18);
  for (ModelMaker* m : {&known, &part}) {
    m->input("x", {"1", "1", "8", "8"});
    m->node("Relu", {"x"}, {"a"});
    m->node(m == &known ? "Tanh" : "Frob", {"a"}, {"y"});
    m->output("y", {"1", "1", "8", "8"});
  }
  put_model("known.onnx", known), put_model("part.onnx", part);
  const auto width = [&](const char* name) {
    const Json row =
        succeed_json({"predict", name, "--machine", "h200", "--mode", "eval"}).at("predictions").at(0);
    return row.at("high_ms").get<double>() / row.at("predicted_ms").get<double>();
  };
  EXPECT_GT(width("part.onnx"), 1.9 * width("known.onnx"));
}

// Without shapes nothing after the gap is reached: there are no outputs at all.
TEST_F(CliOnnxGaps, BenchRefusesANetworkWithoutOutputs) {
  ModelMaker m(18);
  m.input("x", {"1", "4"});
  m.node("Frob", {"x"}, {"y"}).set_name("odd");
  m.graph.add_output()->set_name("y");
  put_model("one.onnx", m);
  for (const char* verb : {"forward", "nets"})
    expect_refused({"bench", verb, "one.onnx"},
                   {"'one.onnx' cannot be run", "Frob ('odd')", "no such operator"});
}

// What a file stores is known, whatever its nodes do.
TEST_F(CliOnnxGaps, ParametersBehindAGapAreCountedAndBuffersApart) {
  ModelMaker m(18);
  m.input("x", {"1", "4"});
  m.node("Frob", {"x"}, {"a"}).set_name("odd");
  store(m, "w", floats({4, 3}, {0.3, -0.2, 0.7, 0.11, 0.5, -0.9, 0.21, 0.4, -0.6, 0.13, 0.8, -0.35}));
  store(m, "mask", floats({3}, {0, -1e9, 0}));
  m.node("MatMul", {"a", "w"}, {"b"});
  m.node("Add", {"b", "mask"}, {"y"});
  m.graph.add_output()->set_name("y");
  put_model("behind.onnx", m);
  const Json json = succeed_json({"model", "show", "behind.onnx"});
  EXPECT_EQ(json["parameters"], 12);
  EXPECT_EQ(json["unreached_parameters"], 12);
  EXPECT_EQ(json["buffers"], 3);
  const std::string text = succeed({"model", "show", "behind.onnx"}).out;
  EXPECT_NE(text.find("parameters 12 (12 of nodes that are not reached), and 3 numbers in buffers"),
            std::string::npos)
      << text;
}

TEST_F(CliOnnxGaps, IntegersWithoutArithmeticAreGaps) {
  for (const std::string op : {"Conv", "Gemm", "LeakyRelu"}) {
    SCOPED_TRACE(op);
    ModelMaker m(18);
    const bool matrix = op == "Gemm";
    const Shape shape = matrix ? Shape{2, 2} : Shape{1, 1, 2, 2};
    m.input("x", matrix ? std::vector<std::string>{"2", "2"} : std::vector<std::string>{"1", "1", "2", "2"},
            TensorProto::UINT8);
    std::vector<std::string> in = {"x"};
    if (matrix || op == "Conv")
      in.push_back("w"), store(m, "w", whole(shape, {1, 2, 3, 4}, TensorProto::UINT8));
    m.node(op, in, {"y"}).set_name("odd");
    m.graph.add_output()->set_name("y");
    put_model("small.onnx", m);
    write_npy(file("x.npy"), whole(shape, {1, 2, 3, 4}, TensorProto::UINT8).tensor(""));
    const Json json = succeed_json({"model", "show", "small.onnx"});
    ASSERT_EQ(json["unknown"].size(), 1u);
    EXPECT_EQ(json["unknown"][0]["first"], "odd");
    expect_refused({"run", "small.onnx", "--input", "x.npy"}, {op + " ('odd')", "uint8"});
  }
}

TEST_F(CliOnnxGaps, AnIntegerArrayIsNotTakenForAFloatInput) {
  put_model("gaps.onnx", three_gaps());
  write_npy(file("i.npy"), whole({3}, {1, 2, 3}).tensor(""));
  expect_refused({"run", "gaps.onnx", "--input", "i.npy"}, {"'gaps.onnx' cannot be run", "Frob ('node_a')"});
}

}  // namespace
}  // namespace headroom::testing

#include "models/onnx/imported.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "base/testing/bad_input.h"
#include "models/onnx/file.h"
#include "models/onnx/testing/model_maker.h"
#include "plan/executor.h"
#include "train/program.h"

namespace headroom::onnx {
namespace {

using headroom::testing::expect_rejected;
using headroom::testing::TemporaryFolder;
using onnx::testing::ModelMaker;

// x [N, 4] -> Gemm with 3x4 weights -> Relu -> y
ModelMaker dense() {
  ModelMaker m;
  m.input("x", {"N", "4"});
  m.floats("w", {3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -1});
  m.floats("b", {3}, {0.5f, -10, 0});
  auto* trans = m.node("Gemm", {"x", "w", "b"}, {"h"}).add_attribute();
  trans->set_name("transB"), trans->set_type(AttributeProto::INT), trans->set_i(1);
  m.node("Relu", {"h"}, {"y"});
  m.output("y", {"N", "3"});
  return m;
}

Net net_of(const ModelMaker& m, std::map<std::string, std::int64_t> sizes = {}) {
  const auto graph = std::make_shared<const ImportedGraph>(File::parse(m.bytes(), "small.onnx"), sizes);
  Net net(graph->name(), graph->item());
  net.imported = graph;
  return net;
}

// Runs the forward pass on 1, 2, 3, … and returns the first output.
std::vector<double> run(const Net& net, std::int64_t batch, DType dtype = DType::f32) {
  const auto device = open_device("cpu", 1);
  Program p = make_forward(net, batch, dtype);
  require_complete(p, net);
  Storage storage(*device);
  Arena arena(*device);
  storage.prepare(p.graph, 0);
  Executor executor(make_plan(p.graph, {Mode::eval, batch, dtype, device->capabilities()}), storage, arena);
  std::vector<std::vector<std::byte>> held;
  for (const Port& port : p.inputs) {
    const TensorType& type = p.graph.value(port.value).type;
    std::vector<double> values(static_cast<std::size_t>(type.shape.numel()));
    std::iota(values.begin(), values.end(), 1.0);
    held.emplace_back(static_cast<std::size_t>(type.bytes()));
    constant_data(type.shape, values, DType::f64).convert(type.dtype, held.back().data());
    executor.bind(port.value, held.back().data());
  }
  executor.run();
  return executor.read(p.outputs.at(0).value);
}

TEST(OnnxFile, RunsWithTheWeightsItBrings) {
  const Net net = net_of(dense());
  EXPECT_EQ(net.input, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(fixed_batch(net), 0);
  const std::vector<double> want = {1.5, 0, 0, 5.5, 0, 0};  // rows 1 2 3 4 and 5 6 7 8
  EXPECT_EQ(run(net, 2), want);
  EXPECT_EQ(run(net, 2, DType::f64), want);
  const Program p = make_forward(net, 2, DType::f32);
  EXPECT_EQ(p.graph.value(p.graph.find("w")).role, Role::parameter);
  EXPECT_TRUE(p.graph.value(p.graph.find("w")).penalized);
  EXPECT_FALSE(p.graph.value(p.graph.find("b")).penalized);
  EXPECT_EQ(p.outputs.at(0).name, "y");
}

TEST(OnnxFile, LayersMayComeInAnyOrder) {
  ModelMaker m = dense();
  m.graph.mutable_node()->SwapElements(0, 1);
  EXPECT_EQ(run(net_of(m), 1), (std::vector<double>{1.5, 0, 0}));
}

TEST(OnnxFile, AFixedBatchStays) {
  ModelMaker m = dense();
  m.graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(2);
  const Net net = net_of(m);
  EXPECT_EQ(fixed_batch(net), 2);
  EXPECT_EQ(make_forward(net, 7, DType::f32).graph.value(0).type.shape, (Shape{2, 4}));
}

// Reshape to [batch, -1] through Shape, Gather, Unsqueeze and Concat, as exporters write it.
TEST(OnnxFile, ShapesAreWorkedOutForEveryBatch) {
  ModelMaker m;
  m.input("x", {"batch", "2", "3"});
  m.node("Shape", {"x"}, {"s"});
  m.integers("zero", {0}).clear_dims();
  m.integers("axes", {0});
  m.integers("rest", {-1});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Unsqueeze", {"n", "axes"}, {"n1"});
  auto* axis = m.node("Concat", {"n1", "rest"}, {"to"}).add_attribute();
  axis->set_name("axis"), axis->set_type(AttributeProto::INT), axis->set_i(0);
  m.node("Reshape", {"x", "to"}, {"y"});
  m.output("y");
  for (std::int64_t batch : {1, 5}) {
    const Program p = make_forward(net_of(m), batch, DType::f32);
    EXPECT_EQ(p.graph.value(p.outputs.at(0).value).type.shape, (Shape{batch, 6}));
    EXPECT_EQ(p.graph.nodes().size(), 1u) << p.graph.text();
  }
}

TEST(OnnxFile, OpenSizesAreAskedFor) {
  ModelMaker m;
  m.input("x", {"N", "length"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  expect_rejected([&] { net_of(m); }, {"'length'", "'x'"});
  expect_rejected([&] { net_of(m, {{"lenght", 3}}); }, {"'lenght'"});
  expect_rejected([&] { net_of(m, {{"length", 0}}); }, {"'length'", "0"});
  EXPECT_EQ(net_of(m, {{"length", 3}}).input, (std::vector<std::int64_t>{3}));
  const Net fixed = net_of(m, {{"length", 3}, {"N", 2}});
  EXPECT_EQ(fixed_batch(fixed), 2);
}

TEST(OnnxFile, TheBatchIsFoundByNameOnAnyAxis) {
  ModelMaker m;
  m.input("x", {"5", "batch_size"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  EXPECT_EQ(make_forward(net_of(m), 3, DType::f32).graph.value(0).type.shape, (Shape{5, 3}));
}

// Unknown operators are named; everything around them is still there.
TEST(OnnxFile, UnknownOperatorsAreGaps) {
  ModelMaker m = dense();
  m.graph.mutable_node(1)->set_op_type("Whirl");
  m.graph.mutable_node(1)->set_name("turn");
  const Net net = net_of(m);
  const Program p = make_forward(net, 2, DType::f32);
  ASSERT_EQ(p.unknown.size(), 1u);
  EXPECT_EQ(p.unknown[0].op, "Whirl");
  EXPECT_EQ(p.unknown[0].node, "turn");
  EXPECT_TRUE(p.unreached.empty());
  EXPECT_EQ(p.graph.nodes().back().op, "gap");
  EXPECT_EQ(p.graph.value(p.outputs.at(0).value).type.shape, (Shape{2, 3}));
  for (Mode mode : {Mode::train, Mode::eval})
    expect_rejected([&] { make_program(net, {.mode = mode, .batch = 2}); }, {"Whirl", "turn"});
  expect_rejected([&] { run(net, 2); }, {"Whirl"});
}

TEST(OnnxFile, WhatLiesBehindAGapOfUnknownShapeIsUnreached) {
  ModelMaker m = dense();
  m.graph.mutable_node(1)->set_op_type("Whirl");
  m.graph.mutable_node(1)->set_output(0, "z");
  m.node("Relu", {"z"}, {"y"}).set_name("last");
  const Program p = make_forward(net_of(m), 2, DType::f32);
  ASSERT_EQ(p.unknown.size(), 1u);
  EXPECT_EQ(p.unreached, (std::vector<std::string>{"last (Relu)"}));
  EXPECT_TRUE(p.outputs.empty());
  ASSERT_EQ(p.graph.nodes().size(), 1u);  // the dense layer before it is counted
  EXPECT_EQ(p.graph.nodes()[0].op, "linear");
}

TEST(OnnxFile, ALastSoftmaxIsLeftToTheLoss) {
  ModelMaker m = dense();
  m.graph.mutable_node(1)->set_op_type("Softmax");
  const Net net = net_of(m);
  const Program eval = make_program(net, {.mode = Mode::eval, .batch = 2});
  for (const Node& node : eval.graph.nodes()) EXPECT_NE(node.op, "softmax");
  const Program forward = make_forward(net, 2, DType::f32);
  EXPECT_EQ(forward.graph.nodes().back().op, "softmax");
}

TEST(OnnxFile, TensorsOfEveryType) {
  ModelMaker m = dense();
  const auto file = File::parse(m.bytes(), "small.onnx");
  auto typed = [&](int type, const std::vector<std::int32_t>& in_int32) {
    TensorProto t;
    t.set_data_type(type);
    t.add_dims(static_cast<std::int64_t>(in_int32.size()));
    for (std::int32_t v : in_int32) t.add_int32_data(v);
    return file->tensor(t).reals();
  };
  using Reals = std::vector<double>;
  EXPECT_EQ(typed(TensorProto::FLOAT16, {0x3C00, 0xC100}), (Reals{1, -2.5}));
  EXPECT_EQ(typed(TensorProto::BFLOAT16, {0x3F80, 0xC020}), (Reals{1, -2.5}));
  EXPECT_EQ(typed(TensorProto::BOOL, {0, 1}), (Reals{0, 1}));
  EXPECT_EQ(typed(TensorProto::INT8, {-3, 7}), (Reals{-3, 7}));
  EXPECT_EQ(typed(TensorProto::UINT8, {3, 255}), (Reals{3, 255}));
  auto raw = [&](int type, const std::string& bytes, std::int64_t count) {
    TensorProto t;
    t.set_data_type(type);
    t.add_dims(count);
    t.set_raw_data(bytes);
    return file->tensor(t).reals();
  };
  EXPECT_EQ(raw(TensorProto::INT8, std::string("\xff\x02", 2), 2), (Reals{-1, 2}));
  EXPECT_EQ(raw(TensorProto::UINT16, std::string("\xff\xff\x01\x00", 4), 2), (Reals{65535, 1}));
  EXPECT_EQ(raw(TensorProto::INT16, std::string("\xff\xff\x01\x00", 4), 2), (Reals{-1, 1}));
  EXPECT_EQ(raw(TensorProto::UINT32, std::string("\xff\xff\xff\xff", 4), 1), (Reals{4294967295.0}));
  expect_rejected([&] { raw(TensorProto::UINT64, std::string(8, '\xff'), 1); }, {"too large"});
  EXPECT_EQ(raw(TensorProto::DOUBLE, std::string("\0\0\0\0\0\0\xf0\x3f", 8), 1), (Reals{1}));
}

TEST(OnnxFile, WeightsBesideTheFile) {
  const TemporaryFolder folder;
  ModelMaker m = dense();
  TensorProto& w = *m.graph.mutable_initializer(0);
  const std::string weights = w.raw_data();
  w.clear_raw_data();
  w.set_data_location(TensorProto::EXTERNAL);
  auto refer = [&](const std::string& location, const std::string& offset = "3") {
    w.clear_external_data();
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"location", location}, {"offset", offset}, {"length", std::to_string(weights.size())}}) {
      auto* entry = w.add_external_data();
      entry->set_key(key), entry->set_value(value);
    }
    return folder.put("models/m.onnx", m.bytes()).string();
  };
  folder.put("models/sub/w.bin", "abc" + weights);  // not at a multiple of four
  folder.put("outside.bin", "abc" + weights);
  EXPECT_EQ(run(find_net(refer("sub/w.bin")), 1), (std::vector<double>{1.5, 0, 0}));
  expect_rejected([&] { make_forward(find_net(refer("../outside.bin")), 1, DType::f32); }, {"outside"});
  expect_rejected(
      [&] { make_forward(find_net(refer((folder.path() / "outside.bin").string())), 1, DType::f32); },
      {"outside"});
  std::filesystem::create_symlink(folder.path() / "outside.bin", folder.path() / "models" / "link.bin");
  expect_rejected([&] { make_forward(find_net(refer("link.bin")), 1, DType::f32); }, {"link", "outside"});
  expect_rejected([&] { make_forward(find_net(refer("none.bin")), 1, DType::f32); }, {"none.bin"});
  expect_rejected([&] { make_forward(find_net(refer("sub/w.bin", "4")), 1, DType::f32); }, {"ends at"});
  expect_rejected([&] { make_forward(find_net(refer("sub/w.bin", "-1")), 1, DType::f32); }, {"offset"});
}

TEST(OnnxFile, DamageIsRejected) {
  auto refused = [](const std::string& bytes, std::initializer_list<std::string_view> parts) {
    expect_rejected(
        [&] {
          const ImportedGraph graph(File::parse(bytes, "bad.onnx"), {});
          Graph g;
          graph.lower(g, 1, {});
        },
        parts);
  };
  const std::string whole = dense().bytes();
  refused("", {"not hold a graph"});
  refused("not protobuf at all", {"bad.onnx"});
  refused(whole.substr(0, whole.size() / 2), {"bad.onnx"});
  auto changed = [&](auto change) {
    ModelMaker m = dense();
    change(m);
    return m.bytes();
  };
  refused(changed([](ModelMaker& m) { m.model.mutable_opset_import(0)->set_version(99); }), {"99"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_node(0)->set_input(0, "y"); }), {"circle"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_node(0)->set_input(0, "gone"); }), {"'gone'"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_node(0)->set_output(0, "y"); }), {"'y'", "twice"});
  refused(changed([](ModelMaker& m) { *m.graph.add_initializer() = m.graph.initializer(0); }), {"'w'"});
  refused(changed([](ModelMaker& m) { *m.graph.add_input() = m.graph.input(0); }), {"'x'"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_output(0)->set_name("nowhere"); }), {"'nowhere'"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_initializer(0)->set_dims(0, -3); }), {"'w'", "-3"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62); }),
          {"'w'"});
  refused(changed([](ModelMaker& m) { m.graph.mutable_initializer(0)->set_dims(0, 4); }), {"'w'", "bytes"});
  refused(changed([](ModelMaker& m) {
            m.graph.mutable_input(0)
                ->mutable_type()
                ->mutable_tensor_type()
                ->mutable_shape()
                ->mutable_dim(1)
                ->set_dim_value(-4);
          }),
          {"'x'", "-4"});
  refused(changed([](ModelMaker& m) {
            m.graph.mutable_input(0)
                ->mutable_type()
                ->mutable_tensor_type()
                ->mutable_shape()
                ->mutable_dim(1)
                ->set_dim_value(5);
          }),
          {"5"});
  refused(changed([](ModelMaker& m) { m.graph.clear_input(); }), {"'x'"});
  refused(changed([](ModelMaker& m) { m.graph.clear_node(); }), {"nodes"});
}

// A file of a few bytes must not make gigabytes.
TEST(OnnxFile, LargeConstantsCostNothing) {
  ModelMaker m;
  m.input("x", {"N", "4"});
  m.integers("size", {1 << 20, 1 << 20});
  m.node("ConstantOfShape", {"size"}, {"w"});
  m.node("Shape", {"w"}, {"s"});
  m.node("Identity", {"x"}, {"y"});
  m.output("y");
  m.output("s", {"2"}, TensorProto::INT64);
  const Net net = net_of(m);
  EXPECT_EQ(make_forward(net, 1, DType::f32).outputs.size(), 2u);
}

// After any change of any byte, a file is either read or refused.
TEST(OnnxFile, ManyChangedFilesAreReadOrRefused) {
  ModelMaker m = dense();
  m.node("Shape", {"y"}, {"s"});
  m.integers("axes", {0});
  m.node("Unsqueeze", {"s", "axes"}, {"u"});
  m.output("u", {"1", "2"}, TensorProto::INT64);
  const std::string whole = m.bytes();
  const Philox random(7, 1);
  std::uint64_t drawn = 0;
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.uniform(drawn++) * double(n)); };
  int read = 0, refused = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::string bytes = whole;
    for (std::size_t k = 0; k <= below(3); ++k) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(4));
          break;
        default:
          bytes.insert(at, 1 + below(3), static_cast<char>(below(256)));
      }
      if (bytes.empty()) bytes = "x";
    }
    try {
      const ImportedGraph graph(File::parse(bytes, "changed.onnx"), {});
      Graph g;
      graph.lower(g, 2, {});
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.blame(), Blame::request) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(read, 30);
  EXPECT_GT(refused, 30);
}

}  // namespace
}  // namespace headroom::onnx

// Networks read from ONNX and written again: the file keeps the format's rules, and gives the same numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "models/onnx/learned.h"
#include "support/one_node.h"
#include "support/onnx_rules.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

Array random(Shape shape, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Philox(seed, 1).normal(i);
  return floats(shape, values);
}

std::vector<NamedTensor> inputs_for(const Inference& inference) {
  std::vector<NamedTensor> arrays;
  for (const PortType& port : inference.inputs()) {
    EXPECT_TRUE(is_float(port.dtype)) << port.name;
    arrays.push_back(random(port.shape, arrays.size() + 5).tensor(port.name));
  }
  return arrays;
}

// The file as written, after it was compared with the network.
onnx::ModelProto rewritten(const Net& net, std::int64_t batch = 0) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "net.onnx").string();
  const auto device = open_device("cpu", 1);
  Engine engine(net, *device, {});
  save_onnx(engine, path, batch);
  onnx::ModelProto model = expect_keeps_rules(read_file(path));
  Inference first(engine);
  const std::vector<NamedTensor> arrays = inputs_for(first);
  const std::vector<NamedTensor> before = first.run(arrays), after = run_net(read_onnx(path), arrays);
  EXPECT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size() && i < before.size(); ++i) {
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_EQ(after[i].type, before[i].type);
    EXPECT_EQ(after[i].bytes, before[i].bytes) << after[i].name;
    EXPECT_TRUE(compare(after[i], before[i], {0, 0}).passed());
  }
  return model;
}

struct CellForm {
  std::string op;
  std::int64_t gates;
  bool bias, initial_h, initial_c;
  std::string direction = "forward";
  bool relu = false, lengths = false;
};

// Every output is read; states come from inputs, so that they matter.
Net cell_net(const CellForm& f) {
  const std::int64_t dirs = f.direction == "bidirectional" ? 2 : 1, hidden = 3, input = 2, batch = 2, seq = 4;
  ModelMaker m(14);
  m.input("x", {"4", "2", "2"});
  store(m, "w", random({dirs, f.gates * hidden, input}, 1));
  store(m, "r", random({dirs, f.gates * hidden, hidden}, 2));
  if (f.bias) store(m, "b", random({dirs, 2 * f.gates * hidden}, 3));
  std::vector<std::string> in = {"x", "w", "r", f.bias ? "b" : ""}, out = {"y", "y_h"};
  if (f.lengths) store(m, "lengths", whole({batch}, {3, 1}, TensorProto::INT32));
  if (f.lengths || f.initial_h || f.initial_c) in.push_back(f.lengths ? "lengths" : "");
  for (const auto& [name, given] : {std::pair("h", f.initial_h), std::pair("c", f.initial_c)}) {
    if (!f.initial_h && !f.initial_c) break;
    in.push_back(given ? name : "");
    if (given) m.input(name, {std::to_string(dirs), std::to_string(batch), std::to_string(hidden)});
  }
  if (f.op == "LSTM") out.push_back("y_c");
  onnx::NodeProto& node = m.node(f.op, in, out);
  ModelMaker::set(node, "hidden_size", hidden);
  ModelMaker::set(node, "direction", f.direction);
  if (f.relu) {
    auto& names = ModelMaker::attribute(node, "activations", onnx::AttributeProto::STRINGS);
    for (std::int64_t d = 0; d < dirs; ++d) names.add_strings("Relu");
  }
  for (const std::string& name : out) m.graph.add_output()->set_name(name);
  EXPECT_EQ(seq, 4);
  return net_of(m);
}

TEST(OnnxRewritten, RecurrentLayersWithTheirFirstStates) {
  for (const bool bias : {false, true})
    for (const bool h : {false, true})
      for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", bias, h, direction));
        rewritten(cell_net({"LSTM", 4, bias, h, false, direction}));
        rewritten(cell_net({"LSTM", 4, bias, h, true, direction}));
        rewritten(cell_net({"GRU", 3, bias, h, false, direction}));
        rewritten(cell_net({"RNN", 1, bias, h, false, direction}));
        rewritten(cell_net({"RNN", 1, bias, h, false, direction, true}));
      }
}

TEST(OnnxRewritten, RecurrentLayersWithLengths) {
  for (const bool h : {false, true})
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      SCOPED_TRACE(fmt::format("{} {}", h, direction));
      rewritten(cell_net({"LSTM", 4, true, h, h, direction, false, true}));
      rewritten(cell_net({"GRU", 3, false, h, false, direction, false, true}));
      const onnx::ModelProto model = rewritten(cell_net({"RNN", 1, true, h, false, direction, true, true}));
      EXPECT_EQ(model.graph().node(0).input(4), "lengths");
    }
}

TEST(OnnxRewritten, RecurrentLayersNameTheStatesThatAreRead) {
  const onnx::ModelProto model = rewritten(cell_net({"LSTM", 4, false, true, true}));
  const onnx::NodeProto& node = model.graph().node(0);
  ASSERT_EQ(node.input_size(), 7);
  EXPECT_EQ(node.input(3), "");
  EXPECT_EQ(node.input(4), "");
  EXPECT_EQ(node.input(5), "h");
  EXPECT_EQ(node.input(6), "c");
}

struct PoolForm {
  std::string op;
  Ints input, kernel, strides, pads;
  Ints dilations = {1, 1};
  std::int64_t count_include_pad = 0;
};

Net pool_net(const PoolForm& f) {
  ModelMaker m(22);
  m.input("x", {"N", "2", std::to_string(f.input[0]), std::to_string(f.input[1])});
  onnx::NodeProto& node = m.node(f.op, {"x"}, {"y"});
  ModelMaker::set(node, "kernel_shape", f.kernel);
  ModelMaker::set(node, "strides", f.strides);
  ModelMaker::set(node, "pads", f.pads);
  ModelMaker::set(node, "dilations", f.dilations);
  ModelMaker::set(node, "ceil_mode", std::int64_t{1});
  if (f.count_include_pad != 0) ModelMaker::set(node, "count_include_pad", f.count_include_pad);
  m.graph.add_output()->set_name("y");
  return net_of(m);
}

Ints attribute_of(const onnx::NodeProto& node, const std::string& name, Ints fallback) {
  for (const onnx::AttributeProto& a : node.attribute())
    if (a.name() == name) return a.ints_size() > 0 ? Ints(a.ints().begin(), a.ints().end()) : Ints{a.i()};
  return fallback;
}

// The format's own rule for the sizes of a pool; from opset 22 on, windows that begin in the padding are left
// out.
Ints sizes_of(const onnx::NodeProto& node, const Ints& input, std::int64_t opset) {
  const Ints kernel = attribute_of(node, "kernel_shape", {}), strides = attribute_of(node, "strides", {1, 1}),
             pads = attribute_of(node, "pads", {0, 0, 0, 0}),
             dilations = attribute_of(node, "dilations", {1, 1});
  const bool ceil_mode = attribute_of(node, "ceil_mode", {0})[0] != 0;
  Ints sizes;
  for (std::size_t a = 0; a < 2; ++a) {
    const double room = double(input[a] + pads[a] + pads[a + 2] - ((kernel[a] - 1) * dilations[a] + 1));
    auto steps = static_cast<std::int64_t>(ceil_mode ? std::ceil(room / double(strides[a]))
                                                     : std::floor(room / double(strides[a])));
    if (ceil_mode && opset >= 22 && steps * strides[a] >= input[a] + pads[a]) --steps;
    sizes.push_back(steps + 1);
  }
  return sizes;
}

TEST(OnnxRewritten, PoolsThatReachOverTheEnd) {
  int with_ceil_mode = 0, of_opset_22 = 0, count = 0;
  for (const std::string op : {"MaxPool", "AveragePool"})
    for (const std::int64_t rows : {7, 12})
      for (const std::int64_t columns : {9, 10})
        for (const Ints& kernel : {Ints{1, 4}, Ints{3, 2}, Ints{2, 5}})
          for (const Ints& strides : {Ints{5, 2}, Ints{2, 3}, Ints{3, 4}})
            for (const Ints& pads : {Ints{0, 1, 0, 0}, Ints{0, 0, 0, 1}, Ints{0, 0, 0, 0}})
              for (const Ints& dilations : {Ints{1, 1}, Ints{2, 1}})
                for (const std::int64_t include : {0, 1}) {
                  if (op == "MaxPool" && include == 1) continue;
                  const PoolForm f{op, {rows, columns}, kernel, strides, pads, dilations, include};
                  SCOPED_TRACE(fmt::format("{} {}x{} kernel {} strides {} pads {} dilations {} {}", op, rows,
                                           columns, fmt::join(kernel, ","), fmt::join(strides, ","),
                                           fmt::join(pads, ","), fmt::join(dilations, ","), include));
                  const onnx::ModelProto model = rewritten(pool_net(f));
                  const onnx::NodeProto& node = model.graph().node(0);
                  const auto& shape = model.graph().output(0).type().tensor_type().shape();
                  const std::int64_t opset = model.opset_import(0).version();
                  EXPECT_EQ(sizes_of(node, f.input, opset),
                            (Ints{shape.dim(2).dim_value(), shape.dim(3).dim_value()}));
                  const Ints written = attribute_of(node, "pads", {});
                  for (std::size_t a = 0; a < 4; ++a) EXPECT_LT(written[a], kernel[a % 2]);
                  with_ceil_mode += attribute_of(node, "ceil_mode", {0})[0] != 0;
                  of_opset_22 += opset == 22;
                  ++count;
                }
  EXPECT_GT(with_ceil_mode, 0);  // both forms were seen
  EXPECT_GT(of_opset_22, 0);
  EXPECT_LT(with_ceil_mode, count / 2);
}

TEST(OnnxRewritten, TransposedConvolutions) {
  for (const std::int64_t stride : {1, 2, 3})
    for (const std::int64_t dilation : {1, 2})
      for (const std::int64_t pad : {0, 1})
        for (const std::int64_t extra : {0, 1})
          for (const std::int64_t groups : {1, 2})
            for (const bool bias : {false, true}) {
              if (extra >= stride) continue;
              SCOPED_TRACE(fmt::format("stride {} dilation {} pad {} extra {} groups {} {}", stride, dilation,
                                       pad, extra, groups, bias));
              ModelMaker m(17);
              m.input("x", {"N", "4", "5", "6"});
              store(m, "w", random({4, 3, 3, 2}, 1));
              if (bias) store(m, "b", random({3 * groups}, 2));
              onnx::NodeProto& node = m.node(
                  "ConvTranspose",
                  bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"}, {"y"});
              ModelMaker::set(node, "strides", Ints{stride, stride});
              ModelMaker::set(node, "dilations", Ints{dilation, dilation});
              ModelMaker::set(node, "pads", Ints{pad, 0, 0, pad});
              ModelMaker::set(node, "output_padding", Ints{extra, 0});
              ModelMaker::set(node, "group", groups);
              m.graph.add_output()->set_name("y");
              rewritten(net_of(m));
            }
}

TEST(OnnxRewritten, NormalisationsWithTheirStatistics) {
  for (const std::vector<std::string>& out :
       {std::vector<std::string>{"y"}, {"y", "m"}, {"y", "", "d"}, {"y", "m", "d"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(out, ",")));
    ModelMaker m(17);
    m.input("x", {"4", "2", "6"});
    store(m, "w", random({6}, 1));
    m.node("LayerNormalization", {"x", "w"}, out);
    for (const std::string& name : out)
      if (!name.empty()) m.graph.add_output()->set_name(name);
    const onnx::ModelProto model = rewritten(net_of(m));
    for (const onnx::NodeProto& node : model.graph().node())
      if (node.op_type() == "LayerNormalization") {
        EXPECT_EQ(std::size_t(node.output_size()), out.size());
      }
  }
}

// A reader cannot tell ones of a normalisation without weights from a scale that is still fresh, nor a number
// of a formula from a learned one. Files written here say it: constants are in Constant nodes.
TEST(OnnxRewritten, ConstantsAreNotParameters) {
  ModelMaker m(17);
  m.input("x", {"N", "4", "6"});
  store(m, "w", random({6, 6}, 1));
  store(m, "scale", random({6}, 2));
  m.node("MatMul", {"x", "w"}, {"h"});
  for (const auto& [name, value] : {std::pair("ones", 1.f), std::pair("zeros", 0.f)}) {
    auto& attribute =
        ModelMaker::attribute(m.node("Constant", {}, {name}), "value", onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->set_data_type(TensorProto::FLOAT);
    attribute.mutable_t()->add_dims(4);
    for (int i = 0; i < 4; ++i) attribute.mutable_t()->add_float_data(value);
  }
  m.node("InstanceNormalization", {"h", "ones", "zeros"}, {"n"});
  m.node("Selu", {"n"}, {"s"});
  m.node("Mul", {"s", "scale"}, {"y"});
  m.graph.add_output()->set_name("y");
  const onnx::ModelProto model = rewritten(net_of(m));
  std::set<std::string> trained;
  for (const TensorProto& t : model.graph().initializer())
    if (t.data_type() == TensorProto::FLOAT) trained.insert(t.name());
  EXPECT_EQ(trained, (std::set<std::string>{"w", "scale"}));
  std::string bytes;
  model.SerializeToString(&bytes);
  const ImportedGraph again(onnx::File::parse(bytes, "again.onnx"), {});
  for (const auto& [name, verdict] : again.tensors())
    EXPECT_EQ(verdict.learned, trained.contains(name)) << name << ": " << verdict.reason;
}

TEST(OnnxRewritten, CastsThroughSixteenBits) {
  for (const int to : {TensorProto::FLOAT16, TensorProto::BFLOAT16, TensorProto::INT8, TensorProto::UINT16}) {
    ModelMaker m(17);
    m.input("x", {"N", "40"});
    ModelMaker::set(m.node("Cast", {"x"}, {"h"}), "to", std::int64_t{to});
    ModelMaker::set(m.node("Cast", {"h"}, {"y"}), "to", std::int64_t{TensorProto::FLOAT});
    m.graph.add_output()->set_name("y");
    rewritten(net_of(m));
  }
}

}  // namespace
}  // namespace headroom::testing

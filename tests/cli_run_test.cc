// The verb run from the user's side: arrays in, arrays out, and the messages if they do not fit.
#include <gtest/gtest.h>

#include <cctype>

#include "base/file.h"
#include "base/json.h"
#include "data/npy.h"
#include "data/tensor_values.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/tensor_file.h"
#include "models/onnx/testing/model_maker.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

template <class T>
NamedTensor array(Shape shape, std::vector<T> values, DType dtype = dtype_of<T>()) {
  NamedTensor t{"", {shape, dtype}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  t.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return t;
}

// Two outputs from three inputs: y = (x0 + 2 x1 + 3 x2 + 0.5, -x0 + x2 - 0.5).
struct CliRun : ProgramTest {
  CliRun() {
    put("net.json",
        R"({"name": "pair", "input": [3], "layers": [{"type": "linear", "name": "fc", "units": 2}]})");
    NamedTensor weight = array<float>({2, 3}, {1, 2, 3, -1, 0, 1}), bias = array<float>({2}, {0.5, -0.5});
    weight.name = "fc.weight", bias.name = "fc.bias";
    write_safetensors(file("w.safetensors"), {{weight, bias}, {}});
    write_npy(file("x.npy"), array<float>({2, 3}, {1, 1, 1, 0, 2, -1}));
    write_npy(file("y.npy"), array<float>({2, 2}, {6.5, -0.5, 1.5, -1.5}));
  }
  Words words(const Words& more) const {
    Words all = {"run", "net.json", "--weights", "w.safetensors"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(CliRun, PrintsWhatComesOut) {
  const Outcome outcome = succeed(words({"--input", "x.npy"}));
  for (const char* part :
       {"fc", "fp32", "2x2", "-1.5", "1.5", "6.5", "6.5 -0.5 1.5 -1.5", "0: 0 (6.5), 1 (-0.5)"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

// Rows of boxes are no scores of classes.
TEST_F(CliRun, PrintsBestClassesForItemsAlone) {
  const std::string detector = HEADROOM_SOURCE_DIR "/tests/golden/detector/";
  const Outcome said =
      succeed({"run", detector + "model.onnx", "--input", detector + "test_data_set_0/input_0.pb"});
  EXPECT_NE(said.out.find("detections"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("best classes"), std::string::npos) << said.out;
}

TEST_F(CliRun, TimesItsLayers) {
  const Outcome outcome = succeed(words({"--input", "x.npy", "--time"}));
  for (const char* part : {"6.5 -0.5 1.5 -1.5", "forward ms", "fc ", "pass  ", "floor  "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  const Json json = succeed_json(words({"--input", "x.npy", "--time"}));
  EXPECT_EQ(json["layers"][0]["layer"], "fc");
  EXPECT_GT(json["layers"][0]["forward_ms"].get<double>(), 0);
  EXPECT_GT(json["pass"]["median"].get<double>(), 0);
  expect_refused({"run", "--cases", ".", "--time"}, {"--time"});
}

TEST_F(CliRun, TakesTheBatchFromTheArray) {
  for (std::int64_t batch : {1, 5}) {
    write_npy(file("b.npy"),
              array<float>({batch, 3}, std::vector<float>(static_cast<std::size_t>(3 * batch), 1)));
    const Json json = succeed_json(words({"--input", "input=b.npy"}));
    EXPECT_EQ(json["batch"], batch);
    EXPECT_EQ(json["outputs"][0]["shape"], Json::array({batch, 2}));
    EXPECT_EQ(json["outputs"][0]["values"][0], 6.5);
    EXPECT_EQ(json["outputs"][0]["top"].size(), static_cast<std::size_t>(batch));
  }
}

TEST_F(CliRun, WritesWhatComesOut) {
  succeed(words({"--input", "x.npy", "--output", "out"}));
  const NamedTensor y = read_npy(file("out/fc.npy"));
  EXPECT_EQ(y.type.shape, (Shape{2, 2}));
  EXPECT_EQ(values_of(y), (std::vector<double>{6.5, -0.5, 1.5, -1.5}));
  EXPECT_EQ(files(),
            (std::set<std::string>{"net.json", "w.safetensors", "x.npy", "y.npy", "out", "out/fc.npy"}));
}

TEST_F(CliRun, ComparesWithWhatIsExpected) {
  const Outcome right = succeed(words({"--input", "x.npy", "--expect", "y.npy"}));
  EXPECT_NE(right.out.find("'fc' is as expected: 4 elements"), std::string::npos) << right.out;
  write_npy(file("z.npy"), array<float>({2, 2}, {6.5, -0.5, 1.75, -1.5}));
  const Outcome wrong = run(words({"--input", "x.npy", "--expect", "fc=z.npy"}));
  EXPECT_EQ(wrong.code, 1);
  for (const char* part : {"'fc' differs in 1 of 4", "[1, 0]", "got 1.5", "wanted 1.75", "off by 0.25"})
    EXPECT_NE(wrong.err.find(part), std::string::npos) << part << "\n" << wrong.err;
  succeed(words({"--input", "x.npy", "--expect", "z.npy", "--atol", "0.3"}));
  succeed(words({"--input", "x.npy", "--expect", "z.npy", "--rtol", "0.2"}));
  write_npy(file("shape.npy"), array<float>({4}, {6.5, -0.5, 1.75, -1.5}));
  const Outcome shape = run(words({"--input", "x.npy", "--expect", "shape.npy"}));
  EXPECT_EQ(shape.code, 1);
  EXPECT_NE(shape.err.find("2x2"), std::string::npos) << shape.err;
}

TEST_F(CliRun, ReadsFilesOfOnnxTests) {
  onnx::write_tensor(file("x.pb"), read_npy(file("x.npy")));
  onnx::write_tensor(file("y.pb"), read_npy(file("y.npy")));
  succeed(words({"--input", "x.pb", "--expect", "y.pb"}));
  put("junk.pb", "no tensor at all");
  expect_refused(words({"--input", "junk.pb"}), {"junk.pb", "ONNX"});
  put("empty.pb", "");
  expect_refused(words({"--input", "empty.pb"}), {"empty.pb", "ONNX"});
}

TEST_F(CliRun, RoundsFloatsAndNothingElse) {
  write_npy(file("wide.npy"), array<double>({2, 3}, {1, 1, 1, 0, 2, -1}));
  succeed(words({"--input", "wide.npy", "--expect", "y.npy"}));
  succeed(words({"--input", "x.npy", "--expect", "y.npy", "--precision", "fp64"}));
  write_npy(file("whole.npy"), array<std::int64_t>({1, 3}, {1, 2, 3}));
  expect_refused(words({"--input", "whole.npy"}), {"'input'", "Nx3 fp32", "int64", "astype"});
}

TEST_F(CliRun, SaysWhatAModelNeeds) {
  expect_refused({"run", "net.json"}, {"needs an input: 'input' (Nx3 fp32)", "--input input=FILE.npy"});
  expect_refused({"run"}, {"no model"});
}

TEST_F(CliRun, RefusesWhatDoesNotFit) {
  write_npy(file("four.npy"), array<float>({1, 4}, {1, 2, 3, 4}));
  expect_refused(words({"--input", "four.npy"}), {"'input'", "Nx3 fp32", "1x4"});
  write_npy(file("flat.npy"), array<float>({3}, {1, 2, 3}));
  expect_refused(words({"--input", "flat.npy"}), {"'input'", "Nx3 fp32", "given as 3"});
  write_npy(file("none.npy"), array<float>({0, 3}, {}));
  expect_refused(words({"--input", "none.npy"}), {"empty"});
  expect_refused(words({"--input", "missing.npy"}), {"cannot read missing.npy"});
  expect_refused(words({"--input", "inptu=x.npy"}), {"no input 'inptu'", "did you mean 'input'?"});
  expect_refused(words({"--input", "x.npy", "x.npy"}), {"1 input", "one too many"});
  expect_refused(words({"--input", "input=x.npy", "input=x.npy"}), {"'input' was given twice"});
  expect_refused(words({"--input", "x.npy", "--expect", "g=y.npy"}), {"no output 'g'"});
  expect_refused(words({"--input", "net.json"}), {"neither an .npy file nor a .pb file"});
  expect_refused(words({"--input", "x.npy", "--rtol", "-1"}), {"--rtol is -1"});
  expect_refused(words({"--input", "x.npy", "--output", "net.json"}), {"net.json is not a folder"});
  expect_refused(words({"--input", "x.npy", "--dim", "n=3"}), {"--dim", "ONNX"});
  expect_refused({"run", "nonet", "--input", "x.npy"}, {"unknown model 'nonet'"});
}

TEST_F(CliRun, SaysThatWeightsAreDrawn) {
  const Outcome outcome = succeed({"run", "net.json", "--input", "x.npy"});
  EXPECT_NE(outcome.err.find("no --weights"), std::string::npos) << outcome.err;
}

struct CliOnnx : CliRun {
  void make_onnx() const {
    succeed({"model", "export", "net.json", "--weights", "w.safetensors", "-o", "net.onnx"});
  }
};

TEST_F(CliOnnx, RunsWhatItExports) {
  make_onnx();
  succeed({"run", "net.onnx", "--input", "x.npy", "--expect", "y.npy"});
  succeed({"run", "net.onnx", "--input", "input=x.npy", "--expect", "fc=y.npy"});
}

TEST_F(CliOnnx, TrainsAndExports) {
  succeed({"train", "mlp:hidden=8", "--data", "glyphs", "--train-size", "64", "--test-size", "64", "--epochs",
           "1", "--save", "m.safetensors", "--save-onnx", "m.onnx"});
  write_npy(file("i.npy"), array<float>({2, 784}, std::vector<float>(1568, 0.25f)));
  succeed({"run", "mlp:hidden=8", "--weights", "m.safetensors", "--input", "i.npy", "--output", "out"});
  const auto output = std::filesystem::directory_iterator(file("out"))->path();
  succeed({"run", "m.onnx", "--input", "i.npy", "--expect", output.string(), "--rtol", "0", "--atol", "0"});
}

TEST_F(CliOnnx, RefusesWhatCannotBeWritten) {
  put("uneven.json",
      R"({"input": [1, 9, 9], "layers": [{"type": "adaptive_avg_pool", "output": 4, "name": "p"}]})");
  expect_refused({"model", "export", "uneven.json", "-o", "u.onnx"},
                 {"'p'", "adaptive_avg_pool", "9x9", "4x4"});
  expect_refused({"model", "export", "net.json"}, {"-o FILE"});
  expect_refused({"model", "export", "net.json", "-o", "missing/n.onnx"}, {"no folder missing"});
  expect_refused({"model", "export", "net.json", "-o", "n.onnx", "--batch", "-1"}, {"--batch is -1"});
  expect_refused({"train", "mlp:hidden=8", "--save", "same", "--save-onnx", "same"},
                 {"--save", "--save-onnx", "same"});
}

// y = the max over `length` of x[batch, length, 2], and the same numbers in a shape given as an input.
std::string open_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  auto describe = [](onnx::ValueInfoProto& info, const char* name, int type, const Words& dims) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    for (const std::string& d : dims) {
      auto& extent = *info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
      if (std::isdigit(static_cast<unsigned char>(d[0])))
        extent.set_dim_value(std::stoll(d));
      else
        extent.set_dim_param(d);
    }
  };
  describe(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"batch", "length", "2"});
  describe(*graph.add_input(), "shape", onnx::TensorProto::INT64, {"2"});
  describe(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"batch", "2"});
  describe(*graph.add_output(), "z", onnx::TensorProto::FLOAT, {"p", "q"});
  auto node = [&](const char* op, const Words& in, const char* out) -> onnx::NodeProto& {
    onnx::NodeProto& n = *graph.add_node();
    n.set_op_type(op);
    for (const std::string& name : in) n.add_input(name);
    n.add_output(out);
    return n;
  };
  onnx::AttributeProto& axes = *node("ReduceMax", {"x"}, "y").add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(1);
  onnx::AttributeProto& keep = *graph.mutable_node(0)->add_attribute();
  keep.set_name("keepdims");
  keep.set_type(onnx::AttributeProto::INT);
  keep.set_i(0);
  node("Reshape", {"x", "shape"}, "z");
  return model.SerializeAsString();
}

TEST_F(CliOnnx, FilesAreMadeToFitTheArrays) {
  put("open.onnx", open_model());
  expect_refused({"run", "open.onnx"},
                 {"'x' (batch x length x 2 fp32)", "'shape' (2 int64)", "--input x=FILE.npy"});
  write_npy(file("o.npy"), array<float>({1, 3, 2}, {1, 2, 5, 0, 3, 7}));
  write_npy(file("s.npy"), array<std::int64_t>({2}, {2, -1}));
  const Json json = succeed_json({"run", "open.onnx", "--input", "x=o.npy", "shape=s.npy"});
  EXPECT_EQ(json["outputs"][0]["values"], Json::array({5, 7}));
  EXPECT_EQ(json["outputs"][1]["shape"], Json::array({2, 3}));
  succeed({"run", "open.onnx", "--dim", "length=3", "--input", "o.npy", "s.npy"});
  expect_refused({"run", "open.onnx", "--dim", "length=4", "--input", "o.npy", "s.npy"}, {"'x'", "1x3x2"});
  expect_refused({"run", "open.onnx", "--dim", "lenght=3", "--input", "o.npy", "s.npy"}, {"'lenght'"});
  expect_refused({"run", "open.onnx", "--dim", "length", "--input", "o.npy", "s.npy"},
                 {"'length' has no size"});
  expect_refused({"run", "open.onnx", "--input", "o.npy"}, {"cannot be run", "shape"});
}

// Names of inputs and files may hold a '='; the longest name that fits is meant. Integers of any width are
// read.
TEST_F(CliOnnx, NamesMayHoldAnEqualsSign) {
  onnx::testing::ModelMaker m(18);
  m.input("a", {"2"}, onnx::TensorProto::INT8);
  m.input("a=b", {"2"}, onnx::TensorProto::INT8);
  m.node("Sub", {"a", "a=b"}, {"y"});
  m.output("y", {"2"});
  put("names.onnx", m.bytes());
  write_npy(file("one=1.npy"), array<std::int8_t>({2}, {100, -100}));
  write_npy(file("two.npy"), array<std::int32_t>({2}, {1, 2}));
  const Json json =
      succeed_json({"run", "names.onnx", "--input", "a=b=two.npy", "a=one=1.npy", "--output", "out"});
  EXPECT_EQ(json["outputs"][0]["values"], Json::array({99, -102}));
  const NamedTensor y = read_npy(file("out/y.npy"));
  EXPECT_EQ(y.type, (TensorType{{2}, DType::i8}));
  EXPECT_EQ(values_of(y), (std::vector<double>{99, -102}));
  write_npy(file("wide.npy"), array<std::int32_t>({2}, {1, 200}));
  expect_refused({"run", "names.onnx", "--input", "a=one=1.npy", "a=b=wide.npy"},
                 {"'a=b' (2 int8) was given 200", "does not fit"});
}

TEST_F(CliOnnx, OutputsHaveTheTypeOfTheFile) {
  onnx::testing::ModelMaker m(21);
  m.input("x", {"2"}, onnx::TensorProto::INT16);
  m.node("Identity", {"x"}, {"y"});
  m.output("y", {"2"}, onnx::TensorProto::INT16);
  put("short.onnx", m.bytes());
  write_file(file("x16.npy"), npy_bytes(array<std::int32_t>({2}, {-3, 300}), "i2"));
  succeed({"run", "short.onnx", "--input", "x16.npy", "--output", "short"});
  EXPECT_NE(read_file(file("short/y.npy")).find("'<i2'"), std::string::npos);
  EXPECT_EQ(values_of(read_npy(file("short/y.npy"))), (std::vector<double>{-3, 300}));
}

// The amounts of padding, the axes of a sum, repeats: integers that decide shapes may be arrays, too.
TEST_F(CliOnnx, ArraysMayShapeTheGraph) {
  onnx::testing::ModelMaker m(18);
  m.input("x", {"2", "2"});
  m.input("pads", {"4"}, onnx::TensorProto::INT64);
  m.node("Pad", {"x", "pads"}, {"y"});
  m.output("y", {"p", "q"});
  put("pad.onnx", m.bytes());
  write_npy(file("p.npy"), array<float>({2, 2}, {1, 2, 3, 4}));
  write_npy(file("pads.npy"), array<std::int64_t>({4}, {0, 1, 1, 0}));
  const Json json = succeed_json({"run", "pad.onnx", "--input", "p.npy", "pads.npy", "--time"});
  EXPECT_EQ(json["outputs"][0]["shape"], Json::array({3, 3}));
  EXPECT_EQ(json["outputs"][0]["values"], Json::array({0, 1, 2, 0, 3, 4, 0, 0})) << "the first eight";
}

// A network that ends in maps has no accuracy, but its layers have times.
TEST_F(CliOnnx, EvalTimesWhatItCannotTest) {
  put("maps.json", R"({"name": "maps", "input": [1, 28, 28], "layers": [)"
                   R"({"type": "conv2d", "name": "conv", "maps": 3, "kernel": 5}]})");
  succeed({"model", "export", "maps.json", "-o", "maps.onnx"});
  const Outcome outcome =
      succeed({"eval", "maps.onnx", "--data", "glyphs", "--test-size", "40", "--batch", "16"});
  EXPECT_NE(outcome.err.find("nothing is tested"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("conv"), std::string::npos) << outcome.out;
  const Json json =
      succeed_json({"eval", "maps.onnx", "--data", "glyphs", "--test-size", "40", "--batch", "16"});
  EXPECT_EQ(json["tested"], false);
  EXPECT_EQ(json["images"], 32) << "whole batches";
  EXPECT_GT(json["layers"][0]["forward_ms"].get<double>(), 0);
}

// The file has a fixed batch of two; six rows run as three batches.
TEST_F(CliOnnx, RunsAFixedBatchInPieces) {
  succeed({"model", "export", "net.json", "--weights", "w.safetensors", "-o", "two.onnx", "--batch", "2"});
  write_npy(file("six.npy"), array<float>({6, 3}, {1, 1, 1, 0, 2, -1, 1, 1, 1, 0, 2, -1, 1, 1, 1, 0, 2, -1}));
  const Json json = succeed_json({"run", "two.onnx", "--input", "six.npy"});
  EXPECT_EQ(json["batch"], 6);
  EXPECT_EQ(json["outputs"][0]["shape"], Json::array({6, 2}));
  EXPECT_EQ(json["outputs"][0]["values"], Json::array({6.5, -0.5, 1.5, -1.5, 6.5, -0.5, 1.5, -1.5}));
  write_npy(file("three.npy"), array<float>({3, 3}, std::vector<float>(9, 1)));
  expect_refused({"run", "two.onnx", "--input", "three.npy"}, {"'input' (2x3 fp32)", "3x3"});
}

// The usual rate is meant for a batch of 64; with single images it would destroy the weights.
TEST_F(CliOnnx, AFileWithABatchOfOneLearns) {
  succeed({"model", "export", "lenet5", "-o", "one.onnx", "--batch", "1"});
  const Json json =
      succeed_json({"train", "one.onnx", "--train-size", "1000", "--test-size", "200", "--epochs", "1"});
  EXPECT_GT(json.at("accuracy").at("test").get<double>(), 0.5);
}

struct CliCases : CliOnnx {
  void put_case(const std::string& name, const std::string& output) const {
    std::filesystem::create_directories(file("cases/" + name + "/test_data_set_0"));
    std::filesystem::copy_file(file("net.onnx"), file("cases/" + name + "/model.onnx"));
    onnx::write_tensor(file("cases/" + name + "/test_data_set_0/input_0.pb"), read_npy(file("x.npy")));
    onnx::write_tensor(file("cases/" + name + "/test_data_set_0/output_0.pb"), read_npy(file(output)));
  }
};

TEST_F(CliCases, CountsWhatIsRight) {
  make_onnx();
  put_case("right", "y.npy");
  std::filesystem::copy_file(file("net.onnx"), file("cases/alone.onnx"));
  const Outcome outcome = succeed({"run", "--cases", "cases"});
  for (const char* part :
       {"right", "passed", "alone.onnx", "no outputs are stored", "1 passed, 0 failed, 1 skipped"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  write_npy(file("z.npy"), array<float>({2, 2}, {6.5, -0.5, 1.75, -1.5}));
  put_case("wrong", "z.npy");
  put("cases/broken/model.onnx", "this is no model");
  put("cases/broken/test_data_set_0/output_0.pb", "");
  const Outcome failed = run({"run", "--cases", "cases"});
  EXPECT_EQ(failed.code, 1);
  for (const char* part :
       {"1 of 4 elements differ", "[1, 0]: 1.5, not 1.75", "1 passed, 2 failed, 1 skipped"})
    EXPECT_NE(failed.out.find(part), std::string::npos) << part << "\n" << failed.out;
  EXPECT_NE(failed.err.find("2 of 4 cases failed"), std::string::npos) << failed.err;
}

TEST_F(CliCases, RefusesFoldersWithoutCases) {
  expect_refused({"run", "--cases", "missing"}, {"no folder missing"});
  std::filesystem::create_directories(file("void"));
  expect_refused({"run", "--cases", "void"}, {"does not hold an .onnx file"});
  expect_refused({"run", "net.json", "--cases", "void"}, {"--cases", "no model"});
}

}  // namespace
}  // namespace headroom::testing

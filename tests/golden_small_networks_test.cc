// Small networks of many kinds, exported by PyTorch (golden/small_networks/make.py): what they answer, ten
// steps of training, and the file that is written from them, compared with PyTorch's own numbers.
#include <gtest/gtest.h>

#include <set>

#include "data/tensor_values.h"
#include "data/testing/bad_input.h"
#include "golden/golden.h"
#include "models/onnx/imported.h"
#include "support/onnx_rules.h"
#include "train/inference.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(HEADROOM_SOURCE_DIR) / "tests" / "golden" / "small_networks" / "files"; }

// The names alone: every test starts the program anew, and only its own network is read.
std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".onnx") list.push_back(entry.path().stem().string());
  std::ranges::sort(list);
  return list;
}

Shape shape_of(const Json& json) { return Shape(json.at("shape").get<std::vector<std::int64_t>>()); }

NamedTensor tensor(const std::string& name, const Shape& shape, std::span<const double> values, DType dtype) {
  NamedTensor wide{name, {shape, DType::f64}, {}};
  wide.bytes.resize(values.size_bytes());
  std::memcpy(wide.bytes.data(), values.data(), values.size_bytes());
  return as_type(wide, dtype);
}

// Relative to the rms of the tensor, like a digest.
std::string compare_output(const Json& want, const NamedTensor& got, double rtol) {
  if (got.type.shape != shape_of(want))
    return fmt::format("its shape is {}, expected {}", got.type.shape.str(), shape_of(want).str());
  const std::vector<double> values = values_of(got);
  if (!want.contains("values")) return compare_digest(want, values, rtol);
  const auto wanted = want["values"].get<std::vector<double>>();
  double squares = 0;
  for (double v : wanted) squares += v * v;
  GoldenWorst worst;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst.compare(fmt::format("element {}", i), values[i], wanted[i],
                  rtol * std::sqrt(squares / double(wanted.size())));
  return worst.failure();
}

class SmallNetwork : public ::testing::TestWithParam<std::string> {
 protected:
  SmallNetwork()
      : golden_(Json::parse(read_file(folder() / (GetParam() + ".json")))),
        training_(golden_["training"]),
        device_(open_device("cpu", 1)) {}

  Net read() const { return read_onnx((folder() / (GetParam() + ".onnx")).string()); }

  // Files hold numbers of formulas in fp32; PyTorch computes with all their digits.
  double fp64_tolerance() const { return golden_.contains("rounded") ? 2e-7 : 1e-10; }
  // PyTorch's own fp32 error shows the effect of rounding; ours rounds in another order.
  double fp32_tolerance() const { return std::max(2e-5, 8 * golden_["fp32_error"].get<double>()); }

  std::vector<NamedTensor> inputs(DType dtype) const {
    std::vector<NamedTensor> list;
    for (const Json& port : golden_["inputs"]) {
      const Shape shape = shape_of(port);
      const std::uint64_t first = 1000 * list.size();
      std::vector<double> values(static_cast<std::size_t>(shape.numel()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            port.contains("tokens") ? golden_label(first + i, port["tokens"]) : golden_value(first, i);
      list.push_back(tensor(port["name"], shape, values, port.contains("tokens") ? DType::i64 : dtype));
    }
    return list;
  }

  void expect_outputs(const std::vector<NamedTensor>& got, double rtol) const {
    ASSERT_EQ(got.size(), golden_["outputs"].size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(compare_output(golden_["outputs"][i], got[i], rtol), "") << got[i].name;
  }

  // Kept to show that the message names the reason, and to be checked as soon as it can be read.
  void expect_unreadable() const {
    Engine engine(read(), *device_, {});
    expect_rejected([&] { Inference(engine).run(inputs(DType::f32)); },
                    {golden_["unreadable"].get<std::string>()});
  }

  Engine engine_for_training(Net net) const {
    net.loss = training_["loss"];
    Update update{.momentum = training_["momentum"]};
    if (training_.contains("freeze")) update.freeze = training_["freeze"];
    return Engine(std::move(net), *device_, {.precision = DType::f64, .update = update});
  }

  // All steps, each with its loss. The first that differs stops the test: so would all after it.
  void expect_steps(Engine& engine) const {
    NamedTensor images = inputs(DType::f64).at(0);
    if (!is_float(images.type.dtype)) images = as_type(images, DType::i32);  // as the loader gives tokens
    const std::int64_t batch = images.type.shape[0];
    Engine::Ready& ready = engine.ready(Mode::train, batch);
    std::vector<std::int32_t> labels;
    if (const ValueId logits = ready.program.logits; training_["loss"] == kCrossEntropy)
      for (std::int64_t i = 0; i < batch * ready.program.labels_each; ++i)
        labels.push_back(
            golden_label(std::uint64_t(i), int(ready.program.graph.value(logits).type.shape[1])));
    engine.set_learning_rate(training_["lr"]);
    std::int64_t step = 0;
    for (const double wanted : training_["losses"]) {
      const double loss = engine.train_step(ready, images.bytes.data(), labels.data(), ++step);
      ASSERT_NEAR(loss, wanted, 10 * fp64_tolerance() * wanted) << "step " << step;
    }
  }

  std::set<std::string> trained(const Engine& engine) const {
    std::set<std::string> names;
    for (const std::string& name : engine.storage().names(Role::parameter)) names.insert(name);
    if (training_.contains("freeze"))
      for (const std::string name : training_["freeze"]) names.erase(name);
    return names;
  }

  static std::vector<double> stored(const Engine& engine, const std::string& name) {
    std::vector<double> host(static_cast<std::size_t>(engine.storage().type(name).shape.numel()));
    engine.storage().read(name, host.data(), host.size() * sizeof(double));
    return host;
  }

  Json golden_;
  const Json& training_;
  std::unique_ptr<Device> device_;
};

TEST_P(SmallNetwork, AnswersAsPytorchDoes) {
  if (golden_.contains("unreadable")) return expect_unreadable();
  for (DType dtype : {DType::f64, DType::f32}) {
    SCOPED_TRACE(name_of(dtype));
    Engine engine(read(), *device_, {.precision = dtype});
    expect_outputs(Inference(engine).run(inputs(dtype)),
                   dtype == DType::f64 ? fp64_tolerance() : fp32_tolerance());
  }
}

TEST_P(SmallNetwork, LearnsAsPytorchDoes) {
  if (training_.contains("refused")) {
    Engine engine(read(), *device_, {.precision = DType::f64});
    expect_rejected([&] { engine.ready(Mode::train, shape_of(golden_["inputs"][0])[0]); },
                    {training_["refused"].get<std::string>()});
    return;
  }
  Engine engine = engine_for_training(read());
  engine.ready(Mode::train, shape_of(golden_["inputs"][0])[0]);
  std::set<std::string> wanted;
  for (const auto& [name, digest] : training_["parameters"].items()) wanted.insert(name);
  ASSERT_EQ(trained(engine), wanted);
  expect_steps(engine);
  for (const char* kind : {"parameters", "statistics"}) {
    if (!training_.contains(kind)) continue;
    for (const auto& [name, digest] : training_[kind].items())
      EXPECT_EQ(compare_digest(digest, stored(engine, name), 10 * fp64_tolerance()), "") << name;
  }
}

TEST_P(SmallNetwork, IsTheSameWhenWrittenAgain) {
  if (golden_.contains("unreadable")) return expect_unreadable();
  const TemporaryFolder temporary;
  const std::string path = (temporary.path() / "again.onnx").string();
  Engine engine(read(), *device_, {});
  save_onnx(engine, path);
  expect_keeps_rules(read_file(path));
  Engine again(read_onnx(path), *device_, {});
  EXPECT_EQ(again.parameter_count(), engine.parameter_count());
  expect_outputs(Inference(again).run(inputs(DType::f32)), fp32_tolerance());
  if (training_.contains("refused")) return;
  Engine trained = engine_for_training(read_onnx(path));
  expect_steps(trained);
}

INSTANTIATE_TEST_SUITE_P(Golden, SmallNetwork, ::testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace headroom::testing

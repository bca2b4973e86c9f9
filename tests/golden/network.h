#pragma once

// A network of a golden file, filled and trained as PyTorch did: logits, every gradient, losses, parameters.

#include <gtest/gtest.h>

#include "golden.h"
#include "train/engine.h"

namespace headroom::testing {

inline double golden_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-10 : 1e-5; }
inline constexpr std::uint64_t kFirstGoldenLabel = 1000;

// Numbers in an engine's type.
inline std::vector<std::byte> golden_stored(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  dispatch_float(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i)
      reinterpret_cast<T*>(bytes.data())[i] = static_cast<T>(values[i]);
  });
  return bytes;
}

inline std::vector<double> golden_parameter(const Engine& engine, const std::string& name) {
  const TensorType& type = engine.storage().type(name);
  return dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> host(static_cast<std::size_t>(type.shape.numel()));
    engine.storage().read(name, host.data(), host.size() * sizeof(T));
    return std::vector<double>(host.begin(), host.end());
  });
}

inline void expect_golden_network(const Json& want, DType dtype) {
  const auto device = open_device("cpu");
  EngineOptions options;
  options.precision = dtype;
  options.keep_gradients = true;
  Engine engine(find_net(want["model"]), *device, options);
  const std::int64_t batch = want["batch"];
  Engine::Ready& ready = engine.ready(Mode::train, batch);
  std::uint64_t tensor = 0;
  for (const auto& [name, shape] : want["shapes"].items()) {
    const Shape expected(shape.get<std::vector<std::int64_t>>());
    ASSERT_EQ(engine.storage().type(name).shape, expected) << name;
    const auto bytes = golden_stored(dtype, golden_fill(++tensor, expected));
    engine.storage().write(name, bytes.data(), bytes.size());
  }
  EXPECT_EQ(engine.storage().names(Role::parameter).size(), want["shapes"].size());

  const TensorType& input = ready.program.graph.value(ready.program.images).type;
  const int classes = want["classes"];
  std::vector<std::int32_t> tokens, labels;
  for (std::int64_t i = 0; i < input.shape.numel(); ++i)
    tokens.push_back(golden_label(std::uint64_t(i), classes));
  for (std::int64_t i = 0; i < batch * ready.program.labels_each; ++i)
    labels.push_back(golden_label(kFirstGoldenLabel + std::uint64_t(i), classes));
  const auto images = input.dtype == DType::i32 ? std::vector<std::byte>{}
                                                : golden_stored(dtype, golden_fill(0, input.shape));
  const void* items = images.empty() ? static_cast<const void*>(tokens.data()) : images.data();

  Engine::Ready& eval = engine.ready(Mode::eval, batch);
  engine.run_batch(eval, items, labels.data());
  EXPECT_EQ(compare_digest(want["logits"], eval.executor->read(eval.program.logits), golden_tolerance(dtype)),
            "");
  engine.set_learning_rate(want["rate"]);
  std::int64_t step = 0;
  for (const Json& loss : want["losses"]) {
    const double got = engine.train_step(ready, items, labels.data(), ++step);
    EXPECT_NEAR(got, loss.get<double>(), golden_tolerance(dtype)) << "step " << step;
    if (step > 1) continue;
    for (const auto& [name, digest] : want["gradients"].items())
      EXPECT_EQ(compare_digest(digest, ready.executor->read(gradient_of(ready.program, name)),
                               golden_tolerance(dtype)),
                "")
          << name;
  }
  for (const auto& [name, digest] : want["parameters"].items())
    EXPECT_EQ(compare_digest(digest, golden_parameter(engine, name), golden_tolerance(dtype)), "") << name;
}

}  // namespace headroom::testing

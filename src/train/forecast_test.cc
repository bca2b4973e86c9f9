#include "train/forecast.h"

#include <gtest/gtest.h>

#include "base/embedded.h"
#include "models/zoo.h"

namespace headroom {
namespace {

Machine card(double memory) {
  Machine m;
  m.name = "card", m.kind = "gpu", m.compute_capability = 80, m.cores = 10;
  m.peak_flops = {{"fp32", 1e13}, {"fp64", 1e12}};
  m.levels = {{.name = "memory", .bytes = memory, .bytes_per_s = 1e12}};
  return m;
}

Forecast of(const std::string& model, double memory, std::int64_t batch, Mode mode = Mode::train) {
  return forecast(find_net(model), card(memory), {}, mode, batch);
}

TEST(Forecast, NamesTheLargestBatchThatFits) {
  for (const char* model : {"lenet5", "mlp:hidden=100", "squeezenet"})
    for (const Mode mode : {Mode::train, Mode::eval}) {
      SCOPED_TRACE(model);
      const double memory = 1.1 * of(model, 0, 7, mode).memory_needed;
      const Forecast large = of(model, memory, 5000, mode);
      ASSERT_FALSE(large.fits());
      ASSERT_GE(large.largest_batch, 7);
      EXPECT_TRUE(of(model, memory, large.largest_batch, mode).fits());
      EXPECT_FALSE(of(model, memory, large.largest_batch + 1, mode).fits());
    }
}

TEST(Forecast, SomeNetworksFitWithNoBatch) {
  const Forecast f = of("mlp:hidden=100", 1000, 64);
  EXPECT_FALSE(f.fits());
  EXPECT_EQ(f.largest_batch, 0);
}

std::vector<Machine> whole_table() {
  std::vector<Machine> machines;
  for (const EmbeddedFile& file : embedded_machines()) machines.push_back(find_machine(file.name));
  return machines;
}

// Machines that share a plan must get the one they would get alone.
TEST(Forecast, ManyMachinesGetWhatEachGetsAlone) {
  struct Request {
    const char* model;
    Mode mode;
    std::int64_t batch;
    EngineOptions options;
  };
  const std::vector<Machine> machines = whole_table();
  // The wide mlp has products whose workspace is a good part of a small card's memory.
  for (const Request& r :
       {Request{"lenet5", Mode::train, 64, {}}, Request{"lenet5", Mode::eval, 16, {.precision = DType::f64}},
        Request{"resnet:depth=18,input=64,classes=10", Mode::train, 8, {.tf32 = true}},
        Request{"squeezenet", Mode::train, 16, {.precision = DType::f16}},
        Request{"mlp:hidden=32768x32768", Mode::train, 8192, {}}}) {
    const Net net = find_net(r.model);
    const std::vector<Outlook> many = forecast_many(net, machines, r.options, r.mode, r.batch);
    ASSERT_EQ(many.size(), machines.size());
    for (std::size_t i = 0; i < machines.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} on {}", r.model, machines[i].name));
      if (is_16bit(r.options.precision) && machines[i].kind == "cpu") continue;
      const Forecast alone = forecast(net, machines[i], r.options, r.mode, r.batch);
      ASSERT_TRUE(many[i].forecast.has_value());
      const Forecast& shared = *many[i].forecast;
      EXPECT_EQ(shared.prediction.machine, machines[i].name);
      EXPECT_EQ(shared.prediction.floor_s, alone.prediction.floor_s);
      EXPECT_EQ(shared.prediction.predicted_s, alone.prediction.predicted_s);
      EXPECT_EQ(shared.memory_needed, alone.memory_needed);
      EXPECT_EQ(shared.memory_there, alone.memory_there);
      EXPECT_EQ(shared.built->plan.text(), alone.built->plan.text());
    }
  }
}

TEST(Forecast, SimilarMachinesShareAPlan) {
  const std::vector<Machine> machines = {find_machine("h100"), find_machine("h200"), find_machine("k20"),
                                         find_machine("k40"), find_machine("xeon-6980p")};
  const auto many = forecast_many(find_net("lenet5"), machines, {}, Mode::train, 64);
  EXPECT_EQ(many[0].forecast->built, many[1].forecast->built);
  EXPECT_EQ(many[2].forecast->built, many[3].forecast->built);
  EXPECT_NE(many[0].forecast->built, many[2].forecast->built);
  const Capabilities& cpu = many[4].forecast->built->plan.binding.target.device;
  EXPECT_EQ(cpu.vector_bytes, 64) << "planned for the vectors of that machine, not of this one";
  EXPECT_EQ(cpu.threads, 128);
  const auto totals = forecast_many(find_net("lenet5"), machines, {}, Mode::train, 64, 0, false);
  EXPECT_EQ(totals[0].forecast->built, nullptr);
  EXPECT_EQ(totals[0].forecast->prediction.floor_s, many[0].forecast->prediction.floor_s);
  EXPECT_EQ(totals[0].forecast->batch, 64);
}

// One machine's refusal is no reason to lose the others.
TEST(Forecast, AMachineThatCannotRunItSaysWhy) {
  const std::vector<Machine> machines = {find_machine("h200"), find_machine("i7-5930k")};
  EngineOptions options;
  options.choose = [](const Problem& problem, const Target& target) {
    if (target.device.kind == DeviceKind::cpu) reject("no such kernel");
    return first_that_accepts(problem, target);
  };
  const auto many = forecast_many(find_net("lenet5"), machines, options, Mode::train, 64);
  EXPECT_TRUE(many[0].forecast.has_value());
  ASSERT_TRUE(many[1].why_not.has_value());
  EXPECT_NE(std::string(many[1].why_not->what()).find("no such kernel"), std::string::npos);
}

TEST(Forecast, UnknownMemoryIsNoLimit) { EXPECT_TRUE(of("lenet5", 0, 100000).fits()); }

}  // namespace
}  // namespace headroom

#include "report/record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/glyphs.h"
#include "report/layers.h"

namespace headroom {
namespace {

Machine toy() {
  Machine m;
  m.name = "toy";
  m.title = "a machine of round numbers";
  m.kind = "cpu";
  m.peak_flops = {{"fp32", 1e12}, {"fp64", 5e11}};
  m.levels = {{"memory", 1e12, 1e10, 0}};
  m.launch_s = 1e-6;
  return m;
}

// One short run of a small network, recorded. Made once: every test reads it only.
const Json& record() {
  static const Json json = [] {
    const Dataset data = make_glyphs({.train = 160, .test = 40});
    const auto device = open_device("cpu", 2);
    Engine engine(find_net("mlp:hidden=16"), *device, {.update = {.momentum = 0.9}});
    TrainObserver nobody;
    TrainOptions options;
    options.batch = 32;
    const TrainResult result = train(engine, data, options, nobody);
    const Plan& plan = engine.ready(Mode::train, 32).plan();
    const Machine machine = toy();
    const Prediction prediction = predict(plan, machine);
    return to_json(RunRecord{.command = {"headroom", "train", "mlp"},
                             .engine = &engine,
                             .plan = &plan,
                             .machine = &machine,
                             .prediction = &prediction,
                             .result = &result,
                             .data = "glyphs",
                             .wall_s = 1.5,
                             .resources = process_resources()});
  }();
  return json;
}

void expect_keys(const Json& json, std::initializer_list<const char*> keys, const char* where) {
  std::vector<std::string> got, want(keys.begin(), keys.end());
  for (const auto& [key, value] : json.items()) got.push_back(key);
  EXPECT_EQ(got, want) << where;
}

TEST(Record, HasItsKeysInOrder) {
  const Json& r = record();
  expect_keys(r,
              {"headroom_record", "command", "version", "commit", "compiler", "time", "machine", "model",
               "data", "plan", "prediction", "measurement", "curve"},
              "record");
  expect_keys(r["model"], {"name", "parameters", "net"}, "model");
  expect_keys(r["plan"], {"mode", "batch", "precision", "device", "arena_bytes", "unshared_bytes", "steps"},
              "plan");
  expect_keys(r["plan"]["steps"][0],
              {"step", "layer", "phase", "op", "problem", "kernel", "why", "refused", "flops", "bytes",
               "work", "workspace_bytes", "charges"},
              "step");
  expect_keys(r["prediction"], {"machine", "floor_ms", "predicted_ms", "layers", "steps"}, "prediction");
  expect_keys(r["measurement"],
              {"device", "threads", "step_ms", "images_per_s", "train_s", "eval_s", "wall_s", "user_s",
               "system_s", "peak_rss_bytes", "steps", "layers"},
              "measurement");
  expect_keys(r["curve"][0], {"epoch", "loss", "test_loss", "seconds", "accuracy"}, "curve");
}

TEST(Record, SaysWhichVersionItIsOf) {
  EXPECT_EQ(record()["headroom_record"], kRecordVersion);
  EXPECT_EQ(record()["time"].get<std::string>().size(), 20u) << "2025-01-31T12:00:00Z";
  EXPECT_EQ(record()["command"][1], "train");
}

void expect_finite(const Json& json, const std::string& path) {
  EXPECT_FALSE(json.is_null()) << path;
  EXPECT_TRUE(!json.is_number_float() || std::isfinite(json.get<double>())) << path;
  if (json.is_structured())
    for (const auto& [key, value] : json.items()) expect_finite(value, path + "/" + key);
}

TEST(Record, HoldsNumbersOnly) { expect_finite(record(), ""); }

TEST(Record, SurvivesItsFile) { EXPECT_EQ(Json::parse(record().dump(2)), record()); }

TEST(Record, BothReadingsHaveEveryStep) {
  const std::size_t steps = record()["plan"]["steps"].size();
  EXPECT_GT(steps, 5u);
  EXPECT_EQ(record()["prediction"]["steps"].size(), steps);
  EXPECT_EQ(record()["measurement"]["steps"].size(), steps);
  for (std::size_t s = 0; s < steps; ++s) {
    EXPECT_EQ(record()["measurement"]["steps"][s]["step"], s);
    EXPECT_EQ(record()["measurement"]["steps"][s]["samples"], 3) << "five steps of 32, two of them warm-up";
  }
}

double sum(const Json& list, const char* key) {
  double total = 0;
  for (const Json& item : list) total += item.value(key, 0.0);
  return total;
}

TEST(Record, LayersAddUpToTheSteps) {
  const Json& r = record();
  const double flops = sum(r["plan"]["steps"], "flops");
  EXPECT_NEAR(sum(r["prediction"]["layers"], "flops"), flops, 1e-9 * flops);
  EXPECT_NEAR(sum(r["measurement"]["layers"], "flops"), flops, 1e-9 * flops);
  const double floor = r["prediction"]["floor_ms"];
  EXPECT_NEAR(sum(r["prediction"]["layers"], "floor_ms"), floor, 1e-9 * floor);
  EXPECT_NEAR(sum(r["prediction"]["steps"], "floor_ms"), floor, 1e-9 * floor);
  const Json& layers = r["measurement"]["layers"];
  const double measured = sum(r["measurement"]["steps"], "median");
  EXPECT_NEAR(sum(layers, "forward_ms") + sum(layers, "backward_ms") + sum(layers, "update_ms"), measured,
              1e-9 * measured);
  EXPECT_EQ(sum(layers, "parameters"), r["model"]["parameters"].get<double>());
  EXPECT_EQ(r["model"]["parameters"], 784 * 16 + 16 + 16 * 10 + 10);
}

TEST(Record, SharesOfEveryStepSumToOne) {
  for (const Json& step : record()["plan"]["steps"]) {
    EXPECT_NEAR(sum(step["charges"], "share"), 1, 1e-12) << step["problem"];
    EXPECT_EQ(step["charges"][0]["shared"], step["charges"].size() > 1);
  }
}

TEST(Record, TheNetCanBeReadBack) {
  const Net net = parse_net(record()["model"]["net"].dump(), "record");
  EXPECT_EQ(net.layers.size(), 2u);
  EXPECT_EQ(net.layers[0].options.integer("units"), 16);
}

}  // namespace
}  // namespace headroom

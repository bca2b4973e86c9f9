#include "report/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
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
  m.launch.host_s = 1e-6;
  return m;
}

// One short run of a small network, recorded once; tests only read it.
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
    RunRecord kept = training_record({.engine = engine,
                                      .data = data,
                                      .options = options,
                                      .plan = plan,
                                      .passes = engine.ready(Mode::train, 32).passes,
                                      .machine = machine,
                                      .prediction = prediction,
                                      .result = result,
                                      .data_name = "glyphs",
                                      .precision = "fp32",
                                      .optimizer = "sgd",
                                      .resources = process_resources(),
                                      .wall_s = 1.5},
                                     {"headroom", "train", "mlp"});
    return to_json(kept);
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
              {"headroom_record", "verb", "command", "version", "commit", "compiler", "time", "machine",
               "model", "data", "plan", "memory", "prediction", "measurement", "curve"},
              "record");
  expect_keys(r["model"], {"name", "parameters", "net"}, "model");
  expect_keys(r["plan"],
              {"mode", "batch", "precision", "device", "threads", "streams", "arena_bytes", "unshared_bytes",
               "passes", "steps"},
              "plan");
  expect_keys(r["plan"]["steps"][0],
              {"step", "layer", "phase", "op", "problem", "kernel", "why", "refused", "flops", "bytes",
               "launches", "workspace_bytes", "stream", "charges"},
              "step");
  expect_keys(
      r["memory"],
      {"peak_step", "peak_bytes", "arena_bytes", "real_peak_bytes", "peak", "steps", "alive", "layers"},
      "memory");
  expect_keys(
      r["prediction"],
      {"machine", "model", "floor_ms", "predicted_ms", "low_ms", "high_ms", "basis", "layers", "steps"},
      "prediction");
  expect_keys(r["measurement"],
              {"source", "captured", "device", "threads", "step_ms", "images_per_s", "train_s", "eval_s",
               "wall_s", "user_s", "system_s", "peak_rss_bytes", "run_us", "steps", "layers"},
              "measurement");
  expect_keys(r["curve"][0], {"epoch", "loss", "test_loss", "seconds", "accuracy"}, "curve");
}

TEST(Record, SaysWhichVersionItIsOf) {
  EXPECT_EQ(record()["headroom_record"], kRecordVersion);
  EXPECT_EQ(record()["time"].get<std::string>().size(), 20u) << "2025-01-31T12:00:00Z";
  EXPECT_EQ(record()["command"][1], "train");
}

TEST(Record, HasTheMemoryOfThePlan) {
  const Json& memory = record()["memory"];
  EXPECT_EQ(memory["arena_bytes"], record()["plan"]["arena_bytes"]);
  EXPECT_EQ(memory["real_peak_bytes"], record()["measurement"]["peak_rss_bytes"]) << "a CPU: the process";
  const std::int64_t parameters = record()["model"]["parameters"].get<std::int64_t>();
  EXPECT_EQ(memory["peak"]["parameters_bytes"], 4 * parameters);
  EXPECT_EQ(memory["peak"]["optimizer_state_bytes"], 4 * parameters) << "momentum";
  std::int64_t sum = 0;
  for (const auto& [kind, bytes] : memory["peak"].items()) sum += bytes.get<std::int64_t>();
  EXPECT_EQ(memory["peak_bytes"], sum);
  for (const auto& [kind, list] : memory["steps"].items()) {
    ASSERT_EQ(list.size(), record()["plan"]["steps"].size()) << kind;
    EXPECT_EQ(list[memory["peak_step"].get<std::size_t>()], memory["peak"][kind]) << kind;
  }
}

TEST(Record, WithoutMemoryCanStillBeRead) {
  Json old = record();
  old.erase("memory");
  const RunRecord r = record_from_json(old, "old.json");
  EXPECT_FALSE(r.memory);
  EXPECT_FALSE(to_json(r).contains("memory"));
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

// Equal up to the rounding of units: files hold milliseconds and microseconds instead of seconds.
void expect_same(const Json& got, const Json& want, const std::string& path) {
  if (want.is_number_float()) {
    EXPECT_NEAR(got.get<double>(), want.get<double>(), 1e-12 * std::abs(want.get<double>())) << path;
    return;
  }
  if (!want.is_structured()) {
    EXPECT_EQ(got, want) << path;
    return;
  }
  ASSERT_EQ(got.size(), want.size()) << path;
  for (const auto& [key, value] : want.items()) {
    const Json* same = want.is_array() ? &got[std::stoul(key)] : got.contains(key) ? &got.at(key) : nullptr;
    ASSERT_NE(same, nullptr) << path << "/" << key;
    expect_same(*same, value, path + "/" + key);
  }
}

TEST(Record, IsReadAgain) {
  const RunRecord again = record_from_json(record(), "run.json");
  EXPECT_EQ(again.version, 2);
  EXPECT_EQ(again.verb, "train");
  ASSERT_TRUE(again.memory);
  EXPECT_EQ(again.memory->planned.steps.size(), again.plan->steps.size());
  EXPECT_EQ(again.memory->planned.steps[0][MemoryKind::parameters],
            again.memory->planned.peak[MemoryKind::parameters]);
  ASSERT_TRUE(again.plan && again.prediction && again.measurement && again.training && again.machine);
  EXPECT_EQ(again.measurement->source, Measurement::Source::wall_clock);
  EXPECT_EQ(again.measurement->steps[0].seconds.size(), 3u);
  EXPECT_EQ(again.plan->passes.front().pass, "lower");
  expect_same(to_json(again), record(), "");
}

// A record that train --record wrote before variants, launches and samples existed.
TEST(Record, OfVersionOneIsReadToo) {
  Json old = record();
  old["headroom_record"] = 1;
  old.erase("verb");
  old["machine"].erase("launch");
  old["machine"]["launch_s"] = 2e-6;
  old["machine"]["extras"] = {{"graph_kernel", {{"value", 1e-6}, {"unit", "s"}}}};
  for (const char* key : {"passes", "threads", "streams"}) old["plan"].erase(key);
  for (Json& step : old["plan"]["steps"]) {
    step.erase("launches"), step.erase("stream");
    step["work"] = {{"flops", 10}, {"bytes", 20}, {"efficiency", 0.5}};
  }
  old["prediction"].erase("model");
  for (const char* key : {"source", "captured", "run_us"}) old["measurement"].erase(key);
  for (Json& step : old["measurement"]["steps"]) step.erase("samples_us");
  const RunRecord r = record_from_json(old, "old.json");
  EXPECT_EQ(r.version, 1);
  EXPECT_EQ(r.verb, "train");
  EXPECT_EQ(r.machine->launch.host_s, 2e-6);
  EXPECT_EQ(r.plan->steps[0].launches.at(0).bytes, 20);
  const Json& first = record()["measurement"]["steps"][0];
  EXPECT_NEAR(r.measurement->steps[0].seconds.at(0), first["median"].get<double>() / 1e3, 1e-12);
  EXPECT_EQ(r.training->epochs.size(), 1u);
  EXPECT_EQ(to_json(r)["headroom_record"], kRecordVersion) << "what is written is always of today";
}

TEST(Record, WhatIsWrongIsNamed) {
  const auto complaint = [](const char* pointer, const Json& value) -> std::string {
    Json json = record();
    json[Json::json_pointer(pointer)] = value;
    try {
      record_from_json(json, "bad.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(complaint("/headroom_record", 3).find("version 3"), std::string::npos);
  EXPECT_NE(complaint("/headroom_record", "two").find("headroom_record"), std::string::npos);
  EXPECT_NE(complaint("/plan/steps/2/kernel", 5).find("plan.steps[2].kernel"), std::string::npos);
  EXPECT_NE(complaint("/plan/steps", 5).find("plan.steps"), std::string::npos);
  EXPECT_NE(complaint("/measurement/source", "sundial").find("sundial"), std::string::npos);
  EXPECT_NE(complaint("/memory/peak_step", 1000).find("memory.peak_step"), std::string::npos);
  EXPECT_NE(complaint("/memory/alive/0/kind", "magic").find("magic"), std::string::npos);
  EXPECT_NE(complaint("/memory/steps/workspace_bytes", {1, 2}).find("memory.steps"), std::string::npos);
  EXPECT_NE(complaint("/memory/layers/0/inputs_bytes", "x").find("memory.layers[0].inputs_bytes"),
            std::string::npos);
  EXPECT_NE(complaint("/measurement", Json::array()).find("measurement"), std::string::npos);
  EXPECT_THROW(record_from_json(Json::object(), "x"), Error);
}

TEST(Record, ABenchmarkHasTablesAndNoTraining) {
  RunRecord bench = start_record("bench ops", {"headroom", "bench", "ops"});
  Sheet sheet("operators", {{.key = "op", .title = "operator"}, {.key = "ms", .title = "ms", .unit = "ms"}});
  sheet.row({"add", 0.5});
  bench.tables.push_back(sheet);
  const Json json = to_json(bench);
  EXPECT_FALSE(json.contains("plan") || json.contains("curve") || json.contains("measurement"));
  const RunRecord again = record_from_json(json, "x");
  ASSERT_EQ(again.tables.size(), 1u);
  EXPECT_EQ(again.tables[0], sheet);
  EXPECT_FALSE(again.plan || again.training);
}

TEST(Record, TheNetCanBeReadBack) {
  const Net net = parse_net(record()["model"]["net"].dump(), "record");
  EXPECT_EQ(net.layers.size(), 2u);
  EXPECT_EQ(net.layers[0].options.integer("units"), 16);
}

}  // namespace
}  // namespace headroom

#include "report/layers.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

Step step(Phase phase, double flops, std::vector<Charge> charges) {
  Step s;
  s.phase = phase;
  s.problem = {.op = "linear", .inputs = {}, .outputs = {{{4, 10}, DType::f32}}};
  s.cost.multiply_add = flops;
  s.charges = std::move(charges);
  return s;
}

// Three steps of a made-up network: a fused forward step, a gradient, an update of two layers.
struct Example {
  Plan plan;
  Prediction prediction;
  Measurement measured;
  Example() {
    using enum Phase;
    plan.steps = {step(forward, 2e9, {{"fc", forward, 0.75}, {"act", forward, 0.25}}),
                  step(backward, 4e9, {{"fc", backward, 1}}),
                  step(update, 0, {{"fc", update, 0.5}, {"out", update, 0.5}})};
    plan.graph.add_value({.name = "fc.weight",
                          .type = {{100, 12}},
                          .role = Role::parameter,
                          .producer = kNone,
                          .layer = "fc"});
    plan.graph.add_value(
        {.name = "out.bias", .type = {{10}}, .role = Role::parameter, .producer = kNone, .layer = "out"});
    prediction.has_times = true;
    prediction.steps = {{1e-3, "compute", 2e-3, 1.8e-3, 2.4e-3},
                        {2e-3, "memory", 3e-3, 2.7e-3, 3.6e-3},
                        {0.4e-3, "L1", 0.4e-3, 0.4e-3, 0.5e-3}};
    measured.steps = {{.seconds = {4e-3}}, {.seconds = {5e-3, 6e-3, 9e-3}}, {.seconds = {2e-3}}};
  }
};

// A classifier's loss and last layer in one step, with a part of the layer before.
TEST(Layers, AClassifiersEndShowsItsLastLayersOutputs) {
  using enum Phase;
  Example e;
  e.plan.graph.replace_nodes({{.op = "classifier_head", .layer = "loss"}});
  Step end = step(forward, 0, {{"fc", backward, 0.5}, {"out", forward, 0.25}, {"loss", forward, 0.25}});
  end.node = 0;
  end.problem = {.op = "classifier_head",
                 .inputs = {{{4, 100}}, {{7, 100}}, {{7}}, {{4}}},
                 .outputs = {{{1}, DType::f32}}};
  e.plan.steps = {e.plan.steps[0], end};
  const auto rows = read_layers(e.plan, e.prediction, e.measured);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].output, "10") << "fc's own";
  EXPECT_EQ(rows[2].output, "7");
  EXPECT_EQ(rows[3].output, Shape{1}.without_first().str());
}

TEST(Layers, AreChargedByShare) {
  const Example e;
  const auto rows = read_layers(e.plan, e.prediction, e.measured);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].layer, "fc");
  EXPECT_EQ(rows[1].layer, "act");
  EXPECT_EQ(rows[2].layer, "out");
  EXPECT_DOUBLE_EQ(rows[0].forward_s, 3e-3);
  EXPECT_DOUBLE_EQ(rows[0].backward_s, 6e-3);
  EXPECT_DOUBLE_EQ(rows[0].update_s, 1e-3);
  EXPECT_DOUBLE_EQ(rows[0].forward_flops, 1.5e9);
  EXPECT_DOUBLE_EQ(rows[0].flops, 5.5e9);
  EXPECT_DOUBLE_EQ(rows[0].floor_s, 0.75e-3 + 2e-3 + 0.2e-3);
  EXPECT_DOUBLE_EQ(rows[0].predicted_s, 1.5e-3 + 3e-3 + 0.2e-3);
  EXPECT_EQ(rows[0].bound, "memory") << "the largest part of its floor";
  EXPECT_EQ(rows[1].bound, "compute");
  EXPECT_EQ(rows[0].parameters, 1200);
  EXPECT_EQ(rows[1].output, "10");
  EXPECT_EQ(rows[2].output, "") << "no forward step";
}

TEST(Layers, AddUpToTheSteps) {
  const Example e;
  double measured = 0, floor = 0, predicted = 0, flops = 0;
  for (const LayerReading& row : read_layers(e.plan, e.prediction, e.measured))
    measured += row.measured_s(), floor += row.floor_s, predicted += row.predicted_s, flops += row.flops;
  EXPECT_DOUBLE_EQ(measured, 12e-3);
  EXPECT_DOUBLE_EQ(floor, 3.4e-3);
  EXPECT_DOUBLE_EQ(predicted, 5.4e-3);
  EXPECT_DOUBLE_EQ(flops, 6e9);
}

TEST(LayerTable, BothReadings) {
  const Example e;
  EXPECT_EQ(layer_sheet(read_layers(e.plan, e.prediction, e.measured), true).text(),
            "layer  output  parameters   MFLOP  forward ms  backward ms  GFLOP/s  floor ms  predicted m"
            "s     low    high  off %  % of roofline  bound by\n"
            "------------------------------------------------------------------------------------------"
            "-------------------------------------------------\n"
            "fc     10           1,200    5500      3.0000       7.0000    550.0    2.9500        4.700"
            "0  4.2500  5.6500  -53.0           29.5    memory\n"
            "act    10               -  500.00      1.0000            -    500.0    0.2500        0.500"
            "0  0.4500  0.6000  -50.0           25.0   compute\n"
            "out                    10       0           -       1.0000      0.0    0.2000        0.200"
            "0  0.2000  0.2500  -80.0           20.0        L1\n"
            "------------------------------------------------------------------------------------------"
            "-------------------------------------------------\n"
            "total               1,210    6000      4.0000       8.0000    500.0    3.4000        5.400"
            "0       -       -  -55.0           28.3\n");
}

TEST(LayerTable, FloorsAlone) {
  const Example e;
  EXPECT_EQ(layer_sheet(read_layers(e.plan, e.prediction), false).text(),
            "layer  output  parameters   MFLOP  floor ms  bound by\n"
            "-----------------------------------------------------\n"
            "fc     10           1,200    5500    2.9500    memory\n"
            "act    10               -  500.00    0.2500   compute\n"
            "out                    10       0    0.2000        L1\n"
            "-----------------------------------------------------\n"
            "total               1,210    6000    3.4000\n");
}

TEST(LayersJson, LeavesOutWhatWasNotMeasured) {
  const Example e;
  const Json with = layers_json(read_layers(e.plan, e.prediction, e.measured));
  EXPECT_DOUBLE_EQ(with[0]["backward_ms"], 6);
  EXPECT_DOUBLE_EQ(with[0]["gflops_per_s"], 550);
  EXPECT_DOUBLE_EQ(with[0]["percent_of_roofline"], 29.5);
  const Json without = layers_json(read_layers(e.plan, e.prediction));
  EXPECT_FALSE(without[0].contains("forward_ms"));
  EXPECT_TRUE(without[0].contains("floor_ms"));
}

}  // namespace
}  // namespace headroom

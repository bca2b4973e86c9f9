// Rules that every prediction keeps, on made-up machines.
#include <gtest/gtest.h>

#include "base/text.h"
#include "timing/forms.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

Machine made_up_gpu() {
  Machine m;
  m.name = "made-up", m.kind = "gpu";
  m.cores = 60, m.compute_capability = 90;
  m.peak_flops["fp32"] = 11e12;
  m.levels = {{"L2", 5e6, 0, 0}, {"memory", 2e10, 400e9, 0}};
  m.launch.host_s = 4e-6;
  m.host_link.bytes_per_s = 16e9;
  m.peer_bytes_per_s = 200e9;
  m.power_w = 60;
  return m;
}

struct Example {
  const KernelForm* form;
  std::vector<TimingRow> rows;
};

// Layers of all kinds, and messages of all sizes.
std::vector<Example> examples() {
  std::string conv = "batch,cin,cout,kernel,size,stride,pad,dilation,groups,kernel_w,width,pass\n";
  for (const char* pass : {"forward", "data_gradient", "weight_gradient"})
    for (const char* layer :
         {"1,3,64,7,224,2,3,1,1,0,0", "64,256,64,1,56,1,0,1,1,0,0", "32,256,512,1,56,2,0,1,1,0,0",
          "16,64,64,3,56,1,1,1,1,0,0", "64,512,512,3,7,1,1,1,1,0,0", "8,96,256,5,27,1,2,1,2,0,0",
          "32,144,144,3,28,1,1,1,144,0,0", "4,64,64,3,32,1,4,4,1,0,0", "32,48,96,5,40,2,2,1,1,0,0",
          "2,32,32,11,60,1,5,1,1,0,0", "16,128,128,1,17,1,0,1,1,7,0", "3,8,24,3,20,1,1,1,1,0,90",
          "1,1,1,1,1,1,0,1,1,0,0"})
      conv += fmt::format("{},{}\n", layer, pass);
  const std::string linear =
      "batch,m,n,k\n1,7,9,5\n1,640,30522,1024\n1,2048,768,3072\n1,33,65001,80\n64,128,64,128\n"
      "900,17,3,40\n12,1024,512,1024\n2,4096,4096,4096\n";
  std::string exchange = "op,gpus,bytes\n";
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "alltoall"})
    for (const int gpus : {2, 3, 4, 8, 16})
      for (double bytes = 256; bytes < 2e9; bytes *= 16)
        exchange += fmt::format("{},{},{}\n", op, gpus, bytes);
  const auto read = [](const KernelForm& form, const std::string& text) {
    return Example{&form, rows_of(parse_timing_table(text, "examples"), form, false)};
  };
  return {read(linear_form(), linear), read(conv2d_form(), conv), read(collective_form(), exchange)};
}

double predicted(const KernelForm& form, const TimingRow& row, const Machine& machine) {
  return fastest(*form.prepare(row, machine, {}), starting_values(form.constants(row.group))).seconds;
}

std::string text_of_row(const KernelForm& form, const TimingRow& row) {
  return fmt::format("{} {} {}", form.name(), row.group, fmt::join(row.sizes, ","));
}

TEST(FormPhysics, MoreOfOneResourceIsNeverSlower) {
  using Change = void (*)(Machine&);
  const std::pair<const char*, Change> changes[] = {
      {"compute", [](Machine& m) { m.peak_flops["fp32"] *= 1.37; }},
      {"memory", [](Machine& m) { m.levels[1].bytes_per_s *= 1.37; }},
      {"L2", [](Machine& m) { m.levels[0].bytes *= 3; }},
      {"launch", [](Machine& m) { m.launch.host_s /= 2; }},
      {"power", [](Machine& m) { m.power_w *= 4; }},
      {"link", [](Machine& m) { m.peer_bytes_per_s *= 1.5; }},
      {"host link", [](Machine& m) { m.host_link.bytes_per_s *= 1.5; }},
      {"multiprocessors", [](Machine& m) { m.cores *= 2, m.peak_flops["fp32"] *= 2; }}};
  for (const bool linked : {true, false})
    for (const auto& [what, change] : changes) {
      Machine before = made_up_gpu();
      if (!linked) before.peer_bytes_per_s = 0;
      Machine after = before;
      change(after);
      for (const Example& example : examples())
        for (const TimingRow& row : example.rows)
          EXPECT_LE(predicted(*example.form, row, after), predicted(*example.form, row, before) * (1 + 1e-12))
              << what << ", " << text_of_row(*example.form, row);
    }
}

TEST(FormPhysics, DoubleRatesAndHalfLatenciesTakeHalfTheTime) {
  const Machine before = made_up_gpu();
  Machine after = before;
  after.peak_flops["fp32"] *= 2, after.levels[1].bytes_per_s *= 2, after.power_w *= 2;
  after.host_link.bytes_per_s *= 2, after.peer_bytes_per_s *= 2, after.launch.host_s /= 2;
  for (const Example& example : examples())
    for (const TimingRow& row : example.rows) {
      const double half = predicted(*example.form, row, before) / 2;
      EXPECT_NEAR(predicted(*example.form, row, after), half, 1e-9 * half) << text_of_row(*example.form, row);
      EXPECT_NEAR(example.form->prepare(row, after, {})->floor(),
                  example.form->prepare(row, before, {})->floor() / 2, 1e-9 * half);
    }
}

TEST(FormPhysics, NothingIsFasterThanItsFloor) {
  for (const Example& example : examples())
    for (const TimingRow& row : example.rows) {
      const auto prepared = example.form->prepare(row, made_up_gpu(), {});
      EXPECT_GE(predicted(*example.form, row, made_up_gpu()), prepared->floor())
          << text_of_row(*example.form, row);
    }
}

TEST(FormPhysics, EveryCandidateIsExplained) {
  for (const Example& example : examples())
    for (const TimingRow& row : example.rows) {
      const auto prepared = example.form->prepare(row, made_up_gpu(), {});
      const auto constants = starting_values(example.form->constants(row.group));
      for (std::size_t c = 0; c < prepared->candidates(); ++c) {
        const Explanation e = prepared->explain(c, constants);
        EXPECT_FALSE(e.choice.empty());
        EXPECT_FALSE(e.bound.empty());
        EXPECT_TRUE(std::isfinite(prepared->seconds(c, constants))) << e.choice;
        std::vector<double> features;
        prepared->add_features(c, features);
        for (const double f : features) EXPECT_TRUE(std::isfinite(f)) << text_of_row(*example.form, row);
      }
    }
}

}  // namespace
}  // namespace headroom

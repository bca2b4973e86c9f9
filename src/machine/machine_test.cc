#include "machine/machine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>

#include "base/embedded.h"
#include "base/file.h"
#include "machine/testing/machine_files.h"

namespace headroom::testing {
namespace machine_test {

class Machines : public MachineFiles {};

std::vector<Machine> built_in(std::string_view kind) {
  std::vector<Machine> machines;
  for (const EmbeddedFile& file : embedded_machines())
    if (Machine machine = find_machine(file.name); machine.kind == kind) machines.push_back(machine);
  return machines;
}

TEST_F(Machines, EveryBuiltInFileHoldsSaneFigures) {
  std::set<std::string> names;
  EXPECT_EQ(embedded_machines().size(), 43u);
  for (const EmbeddedFile& file : embedded_machines()) {
    SCOPED_TRACE(file.name);
    const Machine machine = find_machine(file.name);
    EXPECT_EQ(machine.name, file.name);
    EXPECT_TRUE(names.insert(machine.name).second);
    for (const std::string& alias : machine.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_FALSE(machine.measured);
    EXPECT_GT(machine.clock_hz.boost, 5e8);
    EXPECT_LE(machine.clock_hz.base, machine.clock_hz.boost);
    EXPECT_LT(machine.idle_w, machine.power_w > 0 ? machine.power_w : 1);
    EXPECT_FALSE(machine.notes.empty());
    EXPECT_EQ(to_json(machine), Json::parse(file.text)) << "the file is not in the order it would be printed";
  }
}

TEST_F(Machines, EveryBuiltInGpuHoldsSaneFigures) {
  for (const Machine& machine : built_in("gpu")) {
    SCOPED_TRACE(machine.name);
    for (const auto& [precision, rate] : machine.peak_flops) {
      EXPECT_GT(rate, 5e10) << precision;
      EXPECT_LT(rate, 2e16) << precision;
    }
    EXPECT_GE(machine.memory().bytes_per_s, 1.9e11);
    EXPECT_LE(machine.memory().bytes_per_s, 1e13);
    EXPECT_GE(machine.memory().bytes, 5e9);
    EXPECT_LE(machine.memory().bytes, 2e11);
    EXPECT_GT(machine.launch.host_s, 1e-6);
    EXPECT_LE(machine.launch.host_s, 3e-6);
    EXPECT_GE(machine.compute_capability, 35);
    EXPECT_GT(machine.cores, 10);
    EXPECT_GT(machine.host_link.bytes_per_s, 0);
    EXPECT_GE(machine.shared_bytes, 48 << 10);
    EXPECT_LE(machine.shared_bytes, 228 << 10);
    EXPECT_GE(machine.register_bytes, 256 << 10);
    EXPECT_GT(machine.idle_w, 0);
  }
}

TEST_F(Machines, EveryBuiltInCpuHoldsSaneFigures) {
  const std::vector<Machine> cpus = built_in("cpu");
  EXPECT_GE(cpus.size(), 5u);
  for (const Machine& cpu : cpus) {
    SCOPED_TRACE(cpu.name);
    EXPECT_TRUE(cpu.vector_bytes == 16 || cpu.vector_bytes == 32 || cpu.vector_bytes == 64);
    EXPECT_EQ(cpu.fp32_lanes * 4 % cpu.vector_bytes, 0) << "whole registers per clock";
    const double one_core = cpu.fp32_lanes * 2 * cpu.clock_hz.one_core;
    EXPECT_NEAR(cpu.one_core_peak_flops.at("fp32"), one_core, 0.01 * one_core);
    EXPECT_GE(one_core * cpu.cores, cpu.peak_flops.at("fp32"));
    for (const Machine::Level& level : cpu.levels) EXPECT_GE(level.bytes_per_s, cpu.memory().bytes_per_s);
  }
}

// "by what": a reader of a floor can look up what it rests on.
TEST_F(Machines, EveryBuiltInFigureHasABasis) {
  for (const EmbeddedFile& file : embedded_machines()) {
    SCOPED_TRACE(file.name);
    const Machine machine = find_machine(file.name);
    EXPECT_TRUE(machine.basis.contains("default")) << "no figure may be left without a basis";
    std::set<std::string> used;
    for (const std::string& figure : figures_of(machine)) used.insert(machine.basis_of(figure));
    for (const auto& [field, word] : machine.basis)
      EXPECT_TRUE(used.contains(word)) << field << " is of no use: '" << word << "'";
  }
}

TEST_F(Machines, TheNearestParentGivesTheBasis) {
  Machine machine = find_machine("h200");
  EXPECT_EQ(machine.basis_of("peak_flops.fp32"), "published");
  EXPECT_EQ(machine.basis_of("levels.L2.bytes_per_s"), "computed");
  EXPECT_EQ(machine.basis_of("levels.L2.bytes"), "measured");
  EXPECT_EQ(machine.basis_of("launch.host_s"), "measured") << "from 'launch'";
  machine.basis = {{"default", "published"}, {"peak_flops.fp64", "computed"}};
  EXPECT_EQ(machine.basis_of("peak_flops.fp64_tensor"), "published") << "another figure";
  machine.basis.clear();
  EXPECT_EQ(machine.basis_of("power_w"), "assumed");
  machine.measured = true;
  EXPECT_EQ(machine.basis_of("power_w"), "measured");
  const auto figures = figures_of(machine);
  for (const char* path : {"cores", "clock_hz.boost", "peak_flops.tf32", "levels.memory.bytes_per_s"})
    EXPECT_EQ(std::count(figures.begin(), figures.end(), path), 1) << path;
}

TEST_F(Machines, ABasisIsCheckedByName) {
  Json json = small();
  json["basis"] = {{"default", "guessed"}};
  EXPECT_TRUE(contains(refusal([&] { machine_from_json(json, "desk.json"); }).what(), "basis.default"));
  json["basis"] = {{"levels.L2.bytes", "assumed"}};
  EXPECT_TRUE(contains(refusal([&] { machine_from_json(json, "desk.json"); }).what(), "levels.L2.bytes"));
  json["basis"] = {{"levels", "assumed"}, {"levels.memory.bytes", "published"}};
  EXPECT_EQ(machine_from_json(json, "desk.json").basis_of("levels.memory.bytes"), "published");
}

// A peak that its own lanes cannot reach, or far less than they can, is a slip in one of the two.
TEST_F(Machines, PeaksFollowFromLanesAndClocks) {
  for (const EmbeddedFile& file : embedded_machines()) {
    const Machine m = find_machine(file.name);
    SCOPED_TRACE(m.name);
    const double lanes = double(m.cores) * m.fp32_lanes * 2 * m.clock_hz.boost;
    const double fp32 = m.peak_flops.at("fp32");
    EXPECT_NEAR(fp32, lanes, 0.015 * lanes) << "implies " << fp32 / (lanes / m.clock_hz.boost) << " Hz";
    double best = 1;
    for (const double share : {1.0 / 2, 1.0 / 3, 1.0 / 32, 1.0 / 64})
      best = std::min(best, std::abs(m.peak_flops.at("fp64") / (share * fp32) - 1));
    EXPECT_LT(best, 0.04) << "fp64";
    if (!m.peak_flops.contains("fp16")) continue;
    // Matrix units finish a power of two of products per clock; some vendors quote them at a lower clock.
    const double each = m.peak_flops.at("fp16") / (2 * m.cores * m.clock_hz.boost);
    const double power = std::exp2(std::ceil(std::log2(each / 1.02)));
    EXPECT_GT(each / power, 0.9) << each << " products per clock";
    for (const auto& [precision, ratio] :
         {std::pair("bf16", 1.0), std::pair("tf32", 0.5), std::pair("fp8", 2.0)})
      if (m.peak_flops.contains(precision)) {
        EXPECT_NEAR(m.peak_flops.at(precision) / m.peak_flops.at("fp16"), ratio, 0.025 * ratio) << precision;
      }
  }
}

// What fits L2 is not charged to memory: that would be no floor.
TEST_F(Machines, EveryGpuHasARateOfItsL2) {
  for (const Machine& gpu : built_in("gpu")) {
    SCOPED_TRACE(gpu.name);
    const Machine::Level& l2 = gpu.levels.front();
    ASSERT_EQ(l2.name, "L2");
    EXPECT_GT(l2.bytes_per_s, gpu.memory().bytes_per_s);
    EXPECT_EQ(gpu.level_for(l2.bytes).name, "L2");
    EXPECT_EQ(gpu.level_for(l2.bytes + 1).name, "memory");
    // At most what its multiprocessors can take: 64 bytes per clock each, 128 from Blackwell on.
    const double each = l2.bytes_per_s / (gpu.cores * gpu.clock_hz.boost);
    EXPECT_LE(each, gpu.compute_capability == 100 ? 128.1 : 64.1);
    if (gpu.basis_of("levels.L2.bytes_per_s") == "computed") {
      EXPECT_GE(each, 25);
    }
  }
  // One H200 read 8.59 TB/s from L2; the bound must lie above what was measured.
  EXPECT_GT(find_machine("h200").levels.front().bytes_per_s, 8.6e12);
}

TEST_F(Machines, FiguresOfTheDataSheets) {
  const Machine h200 = find_machine("h200");
  EXPECT_EQ(h200.peak_flops.at("fp32"), 66.9e12);
  EXPECT_EQ(h200.peak_flops.at("bf16"), 989e12);
  EXPECT_EQ(h200.memory().bytes_per_s, 4.8e12);
  EXPECT_EQ(h200.levels.front().bytes, 62914560);
  EXPECT_EQ(h200.compute_capability, 90);
  EXPECT_EQ(h200.host_link.bytes_per_s, 64e9);
  EXPECT_EQ(h200.peer_bytes_per_s, 450e9);

  const Machine k80 = find_machine("k80"), board = find_machine("k80-board");
  EXPECT_EQ(k80.peak_flops.at("fp32"), 4.37e12);
  EXPECT_EQ(k80.memory().bytes_per_s, 240e9);
  EXPECT_EQ(k80.cores, 13);
  EXPECT_EQ(board.peak_flops.at("fp32"), 2 * k80.peak_flops.at("fp32"));
  EXPECT_EQ(board.memory().bytes_per_s, 2 * k80.memory().bytes_per_s);
  EXPECT_FALSE(k80.peak_flops.contains("fp16"));

  EXPECT_EQ(find_machine("k80-board-base").peak_flops.at("fp32"), 5.6e12);
  EXPECT_EQ(find_machine("p100-pcie").memory().bytes_per_s, 732e9);
  EXPECT_EQ(find_machine("a100-40gb").levels.front().bytes, 41943040);
  EXPECT_EQ(find_machine("m40").peak_flops.at("fp64"), 0.2135e12);
  EXPECT_EQ(find_machine("l4").cores, 58);
  EXPECT_EQ(find_machine("rtx4090").peak_flops.at("fp16"), 165.2e12);
  EXPECT_EQ(find_machine("p100").memory().bytes, 17'068'885'120);
  EXPECT_EQ(find_machine("t4").cores, 40);
  EXPECT_EQ(find_machine("p4").memory().bytes_per_s, 192e9);
  EXPECT_LT(find_machine("gb200").peak_flops.at("fp32"), 81e12);
}

TEST_F(Machines, EveryFieldIsCheckedByName) {
  const std::pair<const char*, const char*> wrong[] = {
      {"/kind", "\"fpga\""},       {"/title", "3"},
      {"/peak_flops", "[]"},       {"/peak_flops/fp32", "-1"},
      {"/peak_flops/fp33", "1e9"}, {"/peak_flops/fp32", "\"fast\""},
      {"/levels", "[]"},           {"/levels/0/bytes", "0"},
      {"/levels/0/speed", "1"},    {"/launch/host_s", "null"},
      {"/cores", "1.5"},           {"/notes", "\"one\""},
      {"/measured", "1"},          {"/power", "300"}};
  for (const auto& [pointer, value] : wrong) {
    Json json = small();
    json[Json::json_pointer(pointer)] = Json::parse(value);
    const Error error = refusal([&] { machine_from_json(json, "desk.json"); });
    const std::string text = error.what();
    EXPECT_TRUE(contains(text, "desk.json")) << text;
    const std::string field = std::string(pointer).substr(std::string(pointer).rfind('/') + 1);
    EXPECT_TRUE(contains(text, field)) << text << " does not name " << field;
  }
  for (const char* field : {"title", "kind", "peak_flops", "levels"}) {
    Json json = small();
    json.erase(field);
    EXPECT_TRUE(contains(refusal([&] { machine_from_json(json, "x"); }).what(), field)) << field;
  }
  EXPECT_THROW(machine_from_json(Json::array(), "x"), Error);
  EXPECT_NO_THROW(machine_from_json(small(), "x"));
}

// A slip of a unit: bytes as bits, GB as bytes, MHz as Hz.
TEST_F(Machines, ImpossibleValuesAreRefusedWithAPlausibleRange) {
  const std::pair<const char*, const char*> wrong[] = {{"/levels/0/bytes_per_s", "1e21"},
                                                       {"/levels/0/bytes_per_s", "1.792e15"},
                                                       {"/levels/0/bytes_per_s", "900"},
                                                       {"/levels/0/bytes", "80"},
                                                       {"/levels/0/bytes", "1e18"},
                                                       {"/peak_flops/fp32", "15.7"},
                                                       {"/peak_flops/fp32", "1e21"},
                                                       {"/clock_hz/boost", "1530"},
                                                       {"/launch/host_s", "3"},
                                                       {"/host_link/bytes_per_s", "64"},
                                                       {"/peer_bytes_per_s", "1e20"},
                                                       {"/power_w", "7e8"},
                                                       {"/idle_w", "1e9"},
                                                       {"/shared_bytes", "164"},
                                                       {"/register_bytes", "1e12"}};
  for (const auto& [pointer, value] : wrong) {
    Json json = small();
    json[Json::json_pointer(pointer)] = Json::parse(value);
    const Error error = refusal([&] { machine_from_json(json, "desk.json"); });
    const std::string text = error.what(), path = pointer;
    EXPECT_EQ(error.blame(), Blame::request);
    EXPECT_TRUE(contains(text, "desk.json")) << text;
    EXPECT_TRUE(contains(text, path.substr(path.rfind('/') + 1))) << text;
    EXPECT_TRUE(contains(text, "plausible: ")) << text;
  }
  Json json = small();
  json["levels"].push_back(json["levels"][0]);
  EXPECT_TRUE(contains(refusal([&] { machine_from_json(json, "x"); }).what(), "two levels named memory"));
  for (const char* key : {"cores", "compute_capability", "fp32_lanes", "vector_bytes"})
    for (const char* value : {"1e9", "-1", "0.5", "0", "null"}) {
      Json counted = small();
      counted[key] = Json::parse(value);
      EXPECT_TRUE(contains(refusal([&] { machine_from_json(counted, "x"); }).what(), key)) << value;
    }
}

TEST_F(Machines, LaunchCostsAndLinksAreKept) {
  Json json = small();
  json["launch"] = {{"host_s", 2e-6}, {"graph_node_s", 1.1e-6}, {"wait_s", 7e-6}};
  json["host_link"] = {{"bytes_per_s", 55e9}, {"upload", 55e9}, {"download", 54e9}};
  json["rank_link"] = {{"ranks", 4}, {"latency_s", 1e-5}, {"bytes_per_s", 9e9}};
  json["burst_flops"] = {{"fp32", 6e13}};
  json["team_s"] = {1e-6, 2e-6};
  const Machine machine = machine_from_json(json, "x");
  EXPECT_EQ(machine.team_s, (std::vector{1e-6, 2e-6}));
  EXPECT_EQ(machine.launch, (Machine::LaunchCosts{.host_s = 2e-6, .graph_node_s = 1.1e-6, .wait_s = 7e-6}));
  EXPECT_EQ(machine.rank_link, (Machine::RankLink{4, 1e-5, 9e9}));
  EXPECT_EQ(machine.host_link.download, 54e9);
  EXPECT_EQ(machine.burst_flops.at("fp32"), 6e13);
  for (const char* field : {"launch", "host_link", "rank_link", "burst_flops", "team_s"})
    EXPECT_EQ(to_json(machine).at(field), json.at(field)) << field;
  for (const char* wrong : {"[0]", "[null]", "[9]", "{}", "3"}) {
    Json bad = small();
    bad["team_s"] = Json::parse(wrong);
    EXPECT_TRUE(contains(refusal([&] { machine_from_json(bad, "x"); }).what(), "team_s")) << wrong;
  }
  for (const char* field : {"launch", "host_link", "rank_link"})
    for (const char* wrong : {"[]", R"({"a": 3})", "3"}) {
      Json bad = small();
      bad[field] = Json::parse(wrong);
      EXPECT_TRUE(contains(refusal([&] { machine_from_json(bad, "x"); }).what(), field)) << wrong;
    }
}

// A file of one's own outlives a release.
TEST_F(Machines, FilesOfOlderProgramsAreRead) {
  Json json = small();
  json.erase("launch"), json.erase("host_link");
  json["launch_s"] = 3e-6;
  json["link_bytes_per_s"] = 5e10;
  json["extras"] = {{"graph_kernel", {{"value", 1e-6}, {"unit", "s"}}}};
  const Machine machine = machine_from_json(json, "x");
  EXPECT_EQ(machine.launch.host_s, 3e-6);
  EXPECT_EQ(machine.host_link.bytes_per_s, 5e10);
}

TEST_F(Machines, BytesAreChargedToTheSmallestLevelOfKnownRate) {
  const Machine v100 = find_machine("v100"), h200 = find_machine("h200");
  EXPECT_EQ(v100.level_for(1e6).name, "L2");
  EXPECT_EQ(v100.level_for(1e7).name, "memory");
  EXPECT_EQ(v100.level_for(1e15).name, "memory");
  EXPECT_EQ(h200.level_for(1e7).name, "L2");
  Machine unknown = h200;
  unknown.levels.front().bytes_per_s = 0;
  EXPECT_EQ(unknown.level_for(1e6).name, "memory");  // the rate of its L2 is unknown
}

// What a cache holds is in every larger level, too.
TEST_F(Machines, ASlowLevelIsPassedOver) {
  Machine machine = find_machine("h200");
  machine.levels.front().bytes_per_s = machine.memory().bytes_per_s / 2;
  EXPECT_EQ(machine.level_for(1e6).name, "memory");
  machine.levels.front().bytes_per_s = machine.memory().bytes_per_s;
  EXPECT_EQ(machine.level_for(1e6).name, "L2");
  machine.levels = {{"L1", 1e3, 5e9}, {"L2", 1e6, 20e9}, {"L3", 1e7, 1e9}, {"memory", 1e10, 10e9}};
  EXPECT_EQ(machine.level_for(10).name, "L2");
  EXPECT_EQ(machine.level_for(5e6).name, "memory");
}

// Eight cores have at most eight times what one has, and a share of what is not known of one.
TEST_F(Machines, FewerThreadsHaveAShareOfTheRates) {
  const Machine whole = find_machine("epyc-9654"), part = with_threads(whole, 8);
  EXPECT_EQ(part.cores, 8);
  EXPECT_DOUBLE_EQ(part.peak_flops.at("fp32"), 8 * 118.4e9);
  EXPECT_DOUBLE_EQ(part.levels[0].bytes_per_s, whole.levels[0].bytes_per_s / 12);
  EXPECT_DOUBLE_EQ(part.levels[0].bytes, whole.levels[0].bytes / 12);
  EXPECT_EQ(part.levels[2].bytes, whole.levels[2].bytes) << "all cores share the third level";
  EXPECT_LT(part.memory().bytes_per_s, whole.memory().bytes_per_s);
  for (const int threads : {0, 96, 400}) EXPECT_EQ(with_threads(whole, threads).cores, 96);
  EXPECT_EQ(with_threads(find_machine("h200"), 8).cores, 132) << "not of a GPU";
}

TEST_F(Machines, StartsHaveAUsualCost) {
  Json json = small();
  json.erase("launch");
  EXPECT_GT(machine_from_json(json, "x").start_s(), 0);
  EXPECT_EQ(find_machine("h200").start_s(), 2.4e-6);
}

TEST_F(Machines, ACapabilityIsWrittenWithoutItsPoint) {
  Json json = small();
  for (const int slip : {1, 9, 19}) {
    json["compute_capability"] = slip;
    const Error error = refusal([&] { machine_from_json(json, "x"); });
    EXPECT_TRUE(contains(error.what(), "'compute_capability'")) << error.what();
    EXPECT_TRUE(contains(error.what(), "90 for compute capability 9.0")) << error.what();
  }
  json["compute_capability"] = 20;
  EXPECT_EQ(machine_from_json(json, "x").compute_capability, 20);
}

TEST_F(Machines, KernelTimesAreNoMachine) {
  Json json = small();
  json["kernel_times"] = Json::array();
  EXPECT_TRUE(contains(refusal([&] { machine_from_json(json, "x"); }).what(), "times of kernels"));
}

TEST_F(Machines, FiveLoadInNoTime) {
  const auto begin = std::chrono::steady_clock::now();
  for (const char* name : {"k80", "p100", "v100", "a100", "h200"}) find_machine(name);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 0.05);
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
}

}  // namespace machine_test
}  // namespace headroom::testing

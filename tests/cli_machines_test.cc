// `predict` for machines that are not here: lists of them, all of them, and the names that others give them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/text.h"
#include "data/gzip.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliMachines : ProgramTest {
  // The predictions of a request, by machine.
  std::map<std::string, Json> rows(const Words& words) const {
    std::map<std::string, Json> rows;
    const Json json = succeed_json(words);
    for (const Json& row : json.at("predictions")) rows[row.at("machine")] = row;
    return rows;
  }
};

// Copies over a link that the file does not name would take no time.
TEST_F(CliMachines, AnUnknownLinkIsSaid) {
  Json machine = Json::parse(succeed({"machine", "show", "t4", "--json"}).out);
  put("known.json", machine.dump());
  machine.erase("host_link"), machine["name"] = "mine";
  put("mine.json", machine.dump());
  const auto said = [&](const Words& more) {
    return succeed(with({"predict", "lenet5", "--machine"}, more)).err;
  };
  EXPECT_NE(said({"mine.json", "--copies"}).find("'mine' names no `host_link`"), std::string::npos);
  EXPECT_EQ(said({"mine.json"}).find("host_link"), std::string::npos);
  EXPECT_EQ(said({"known.json", "--copies"}).find("host_link"), std::string::npos);
}

TEST_F(CliMachines, AllIsOneTableOfEveryMachine) {
  const Words words = {"predict", "resnet:depth=50", "--machine", "all"};
  const auto all = rows(words);
  std::set<std::string> listed;
  const Json list = succeed_json({"machine", "list"});
  for (const Json& machine : list.at("machines")) listed.insert(machine.at("name"));
  EXPECT_GE(listed.size(), 43u);
  for (const std::string& name : listed) EXPECT_TRUE(all.contains(name)) << name;
  EXPECT_EQ(all.size(), listed.size());
  EXPECT_GT(all.at("t4").at("predicted_ms").get<double>(), all.at("h200").at("predicted_ms").get<double>());
  EXPECT_FALSE(all.at("h200").contains("layers"));
  EXPECT_EQ(all.at("k20").at("fits"), false) << "5 GB are not enough";
  EXPECT_NE(all.at("k20").at("why_not").get<std::string>().find("of 5.0"), std::string::npos);

  const std::string text = succeed(words).out;
  EXPECT_EQ(text.find("one training step on"), std::string::npos) << "no table of layers";
  for (const char* part : {"why not", "k20", "xeon-6980p", "needs 5."})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(CliMachines, AllNamesMachinesWithoutThePrecision) {
  const auto all = rows({"predict", "lenet5", "--machine", "all", "--precision", "bf16"});
  EXPECT_EQ(all.at("k80").at("why_not"), "k80 does not compute in bf16; it has fp64, fp32");
  EXPECT_TRUE(all.at("k80").at("predicted_ms").is_null());
  EXPECT_EQ(all.at("t4").at("why_not"), "t4 does not compute in bf16; it has fp64, fp32, fp16");
  EXPECT_EQ(
      all.at("xeon-e5-2630v3").at("why_not"),
      "Intel Xeon E5-2630 v3, 8 cores does not compute in bf16: it has none of AMX-BF16, AVX512-BF16 and "
      "BF16 of Arm");
  for (const char* processor : {"epyc-9654", "graviton3"})
    EXPECT_GT(all.at(processor).at("predicted_ms").get<double>(), 0) << processor;
  EXPECT_GT(all.at("a100-80gb").at("predicted_ms").get<double>(), 0);
  EXPECT_FALSE(all.at("a100-80gb").contains("why_not"));
  const std::string csv =
      succeed({"predict", "lenet5", "--machine", "all", "--precision", "bf16", "--csv"}).out;
  EXPECT_NE(csv.find("\nk80,64,,,,,,,,,,-,,\"k80 does not compute in bf16; it has fp64, fp32\"\n"),
            std::string::npos)
      << csv;
}

TEST_F(CliMachines, AllKeepsADamagedFileApart) {
  write_file(std::filesystem::path(environment().at("HEADROOM_CACHE")) / "machines/broken.json", "{");
  const auto all = rows({"predict", "lenet5", "--machine", "all"});
  EXPECT_NE(all.at("broken").at("why_not").get<std::string>().find("broken.json"), std::string::npos);
  EXPECT_GT(all.at("h200").at("predicted_ms").get<double>(), 0);
}

TEST_F(CliMachines, TheListGoesOnPastADamagedFile) {
  write_file(std::filesystem::path(environment().at("HEADROOM_CACHE")) / "machines/broken.json", "{");
  const Outcome said = succeed({"machine", "list"});
  EXPECT_NE(said.err.find("broken.json"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("correct or delete that file"), std::string::npos) << said.err;
  EXPECT_NE(said.out.find("h200"), std::string::npos) << said.out;
  EXPECT_GE(succeed_json({"machine", "list"}).at("machines").size(), 43u);
}

TEST_F(CliMachines, AnErrorOfTheRequestIsNoTable) {
  expect_refused({"predict", "mlp", "--machine", "all", "--precision", "fp8"}, {"fp8"});
  expect_refused({"predict", "mlp", "--machine", "all", "--batch", "9000000000000000000"}, {"numbers"});
}

TEST_F(CliMachines, SeveralAreComparedOneIsShownByLayers) {
  const std::string several = succeed({"predict", "lenet5", "--machine", "h200,t4,NVIDIA_B200"}).out;
  EXPECT_EQ(several.find("one training step on"), std::string::npos) << several;
  for (const char* name : {"h200", "t4", "b200"}) EXPECT_NE(several.find(name), std::string::npos) << name;
  EXPECT_NE(succeed({"predict", "lenet5", "--machine", "t4"}).out.find("one training step on t4"),
            std::string::npos);
  EXPECT_NE(succeed({"predict", "lenet5", "--machine", "h200,t4", "--top", "3"}).out.find("step on t4"),
            std::string::npos)
      << "layers were asked for";
}

TEST_F(CliMachines, EveryDeviceOfThePublicTimingsIsKnown) {
  const char* named = std::getenv("HEADROOM_DATA");
  const std::filesystem::path folder =
      (named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data") / "timings";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no timings in " << folder;
  std::set<std::string> devices;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string text = gunzip(read_file(entry.path()), entry.path().string(), 1 << 26);
    const std::vector<std::string> lines = split(text, '\n');
    ASSERT_TRUE(lines.at(0).starts_with("device,")) << entry.path();
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (!lines[i].empty()) devices.insert(split(lines[i], ',').at(0));
  }
  EXPECT_GE(devices.size(), 14u);
  for (const std::string& device : devices) EXPECT_NO_THROW(find_machine(device)) << device;
}

// Its name is written in the file; the user gave a path.
TEST_F(CliMachines, AMachineOfAFileCanBeExplained) {
  put("paper.json", R"({"name": "mine", "title": "on paper", "kind": "gpu", "peak_flops": {"fp32": 33e12},
    "launch": {"host_s": 2.4e-6}, "levels": [{"name": "memory", "bytes": 150e9, "bytes_per_s": 9600e9}]})");
  const Outcome said = succeed({"predict", "mlp", "--machine", "paper.json", "--batch", "64", "--explain"});
  EXPECT_NE(said.out.find("kernels on mine"), std::string::npos) << said.out;
}

TEST_F(CliMachines, EveryMachineAndBatchIsExplained) {
  const Words words = {"predict", "mlp", "--explain", "--machine"};
  const Outcome two = succeed(with(words, {"t4,h200", "--batch", "1,64"}));
  for (const char* row : {"t4, batch 1:", "t4, batch 64:", "h200, batch 1:", "h200, batch 64:"})
    for (const std::string& text : {two.out, two.err}) EXPECT_NE(text.find(row), std::string::npos) << row;
  const Outcome json = succeed({"predict", "mlp", "--explain", "--json", "--machine", "t4", "--batch", "1"});
  EXPECT_EQ(Json::parse(json.out).at("predictions").size(), 1u);
  EXPECT_NE(json.err.find("kernels on t4"), std::string::npos) << json.err;
  const Outcome many = succeed(with(words, {"t4,h200,k80", "--batch", "1,64"}));
  EXPECT_NE(many.out.find("kernels on t4:"), std::string::npos) << many.out;
  EXPECT_EQ(many.out.find("kernels on h200"), std::string::npos) << many.out;
  EXPECT_NE(many.err.find("of these 6, only t4 with a batch of 1"), std::string::npos) << many.err;
}

// Blanks after commas are as harmless as capitals; options of GPUs are those of the machines that are named.
TEST_F(CliMachines, NamesMayHaveBlanksAndGpusTheirLayouts) {
  EXPECT_EQ(rows({"predict", "lenet5", "--machine", "t4, H200 "}).size(), 2u);
  EXPECT_EQ(rows({"predict", "resnet:depth=18", "--machine", "h200", "--layout", "nhwc"}).size(), 1u);
  expect_refused({"predict", "lenet5", "--machine", "epyc-9654", "--layout", "nhwc"}, {"for GPUs"});
}

// No kernel of ours is built for it. Its floor is not what its libraries take, either.
TEST_F(CliMachines, AnOldGpuTakesLongerThanItsFloor) {
  const Words words = {"predict", "alexnet", "--machine", "m40", "--batch", "16"};
  const Json m40 = rows(words).at("m40");
  EXPECT_GT(m40.at("predicted_ms").get<double>(), 1.2 * m40.at("floor_ms").get<double>());
  EXPECT_NE(succeed(words).out.find("Of m40: no kernel of this program is built"), std::string::npos);
  EXPECT_EQ(succeed({"predict", "lenet5", "--machine", "h200"}).out.find("no kernel of this program"),
            std::string::npos);
}

// Our own products need later instructions there: its convolutions are the library's, as those of older GPUs
// are.
TEST_F(CliMachines, ATuringGpuIsFasterThanAnOlderOneWithLessOfEverything) {
  for (const char* network : {"resnet:depth=50", "vgg:depth=11", "mobilenet"}) {
    const Json both = rows({"predict", network, "--machine", "gtx1080ti,rtx2080ti", "--batch", "16"});
    EXPECT_LT(both.at("rtx2080ti").at("predicted_ms").get<double>(),
              both.at("gtx1080ti").at("predicted_ms").get<double>())
        << network;
  }
  EXPECT_NE(succeed({"predict", "vgg:depth=11", "--machine", "t4", "--explain"}).out.find(" cudnn "),
            std::string::npos);
}

// It need not be old.
TEST_F(CliMachines, AGpuOfUnknownCapabilityIsSaidToBeOne) {
  put("paper.json", R"({"title": "on paper", "kind": "gpu", "peak_flops": {"fp32": 33e12},
    "levels": [{"name": "memory", "bytes": 150e9, "bytes_per_s": 9600e9}]})");
  const std::string said = succeed({"predict", "lenet5", "--machine", "paper.json,m40", "--wide"}).out;
  EXPECT_NE(said.find("Of m40: no kernel of this program is built"), std::string::npos) << said;
  EXPECT_NE(said.find("Of paper: the machine's file does not say its"), std::string::npos) << said;
}

TEST_F(CliMachines, FewerThreadsOfANamedProcessorAreSlower) {
  const auto ms = [&](const char* threads) {
    return rows({"predict", "vgg:depth=11", "--machine", "epyc-9654", "--batch", "8", "--threads", threads})
        .at("epyc-9654")
        .at("floor_ms")
        .get<double>();
  };
  EXPECT_GT(ms("4"), 5 * ms("96"));
  EXPECT_NE(
      succeed({"predict", "lenet5", "--machine", "epyc-9654", "--threads", "200"}).err.find("has 96 cores"),
      std::string::npos);
}

// A launch that the file leaves out is not free, and tensor cores that it leaves out are not missing.
TEST_F(CliMachines, FourFieldsMakeAMachine) {
  put("paper.json", R"({"title": "on paper", "kind": "gpu", "cores": 132, "compute_capability": 90,
    "peak_flops": {"fp32": 66.9e12, "fp16": 989e12, "bf16": 989e12},
    "levels": [{"name": "L2", "bytes": 62914560, "bytes_per_s": 16728e9},
               {"name": "memory", "bytes": 150e9, "bytes_per_s": 4800e9}]})");
  const auto two = rows({"predict", "lenet5", "--machine", "paper.json,h200"});
  const double whole = two.at("h200").at("predicted_ms"), paper = two.at("paper").at("predicted_ms");
  EXPECT_NEAR(paper, whole, 0.3 * whole);
}

}  // namespace
}  // namespace headroom::testing

// How machines are found: names, aliases, files of one's own.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "machine/testing/machine_files.h"

namespace headroom::testing {
namespace machine_names_test {

class MachineNames : public MachineFiles {};

TEST_F(MachineNames, AliasesAndCapitalsAreNamesToo) {
  EXPECT_EQ(find_machine("v100").name, "v100-sxm2");
  EXPECT_EQ(find_machine("a100").name, "a100-80gb");
  EXPECT_EQ(find_machine("h100").name, "h100-sxm");
  EXPECT_EQ(find_machine("p100").name, "p100-pcie");
  EXPECT_EQ(find_machine("rtx-8000").name, "rtx8000");
  EXPECT_EQ(find_machine("H200").name, "h200");
  EXPECT_EQ(find_machine("RTX-4090").name, "rtx4090");
}

// The names of the public timing tables, of drivers and of people.
TEST_F(MachineNames, NamesAsOthersWriteThem) {
  const std::pair<const char*, const char*> names[] = {{"a100-sxm", "a100-80gb"},
                                                       {"a100-pcie-40", "a100-40gb-pcie"},
                                                       {"a100-pcie-80", "a100-80gb-pcie"},
                                                       {"h100-sxm", "h100-sxm"},
                                                       {"h200-sxm", "h200"},
                                                       {"b200", "b200"},
                                                       {"l40s", "l40s"},
                                                       {"v100-pcie", "v100-pcie"},
                                                       {"p100-pcie", "p100-pcie"},
                                                       {"t4", "t4"},
                                                       {"p4", "p4"},
                                                       {"NVIDIA_A100-SXM4-80GB", "a100-80gb"},
                                                       {"NVIDIA A100-PCIE-40GB", "a100-40gb-pcie"},
                                                       {"NVIDIA A100 80GB PCIe", "a100-80gb-pcie"},
                                                       {"NVIDIA_H100_80GB_HBM3", "h100-sxm"},
                                                       {"NVIDIA H100 PCIe", "h100-pcie"},
                                                       {"NVIDIA_H200", "h200"},
                                                       {"NVIDIA_L40S", "l40s"},
                                                       {"NVIDIA_B200", "b200"},
                                                       {"NVIDIA GB200", "gb200"},
                                                       {"NVIDIA GH200 480GB", "gh200"},
                                                       {"Tesla V100-SXM2-16GB", "v100-sxm2"},
                                                       {"Tesla P100-PCIE-16GB", "p100-pcie"},
                                                       {"Tesla T4", "t4"},
                                                       {"Tesla K80", "k80"},
                                                       {"Quadro RTX 8000", "rtx8000"},
                                                       {"NVIDIA GeForce RTX 4090", "rtx4090"},
                                                       {"GeForce GTX 1080 Ti", "gtx1080ti"},
                                                       {"GeForce GTX TITAN X", "titan-x-maxwell"},
                                                       {"Neoverse-V1", "neoverse-v1"},
                                                       {"Intel Xeon E5-2630 v3", "xeon-e5-2630v3"},
                                                       {"AMD EPYC 9654", "epyc-9654"}};
  for (const auto& [written, name] : names) EXPECT_EQ(find_machine(written).name, name) << written;
}

TEST_F(MachineNames, AnUnknownNameIsRefusedWithTheNearest) {
  const Error error = refusal([] { find_machine("h20O"); });
  EXPECT_EQ(error.blame(), Blame::request);
  EXPECT_TRUE(contains(error.what(), "h20O"));
  EXPECT_TRUE(contains(error.hint(), "h200")) << error.hint();
  const Error alias = refusal([] { find_machine("a100-pcie-41"); });
  EXPECT_TRUE(contains(alias.hint(), "a100-pcie-40")) << alias.hint();
}

TEST_F(MachineNames, HereIsNeverInvented) {
  const Error error = refusal([] { find_machine("here"); });
  EXPECT_TRUE(contains(error.hint(), "headroom roofline")) << error.hint();
  const Error gpu = refusal([] { find_machine("here-gpu"); });
  EXPECT_TRUE(contains(gpu.what(), "GPU")) << gpu.what();
  EXPECT_TRUE(contains(gpu.hint(), "headroom roofline")) << gpu.hint();
}

TEST_F(MachineNames, SavedOnesAreFoundListedAndTakePrecedence) {
  Machine machine = find_machine("h200");
  machine.name = "here";
  machine.measured = true;
  machine.one_core_peak_flops["fp32"] = 1.5e9;
  save_machine(machine);
  EXPECT_EQ(to_json(find_machine("here")), to_json(machine));
  const auto names = machine_names();
  EXPECT_EQ(names.size(), 44u);
  EXPECT_EQ(std::count(names.begin(), names.end(), "here"), 1);

  machine.name = "k80";
  save_machine(machine);
  EXPECT_TRUE(find_machine("k80").measured);
  EXPECT_EQ(machine_names().size(), 44u);
  machine.name = "../k80";
  EXPECT_THROW(save_machine(machine), Error);
}

TEST_F(MachineNames, AnEditedCopyHasAllNamesOfItsOriginal) {
  Machine edited = find_machine("h200");
  edited.power_w = 123;
  save_machine(edited);
  for (const char* name : {"h200", "H200", "NVIDIA_H200", "h200-sxm"}) {
    EXPECT_EQ(find_machine(name).power_w, 123) << name;
    EXPECT_EQ(find_machine(name).name, "h200") << name;
  }
  edited.name = "h200-mine";  // its aliases are still those of the h200
  save_machine(edited);
  write(machine_file("h200"), "{");
  EXPECT_TRUE(contains(refusal([] { find_machine("H200"); }).what(), machine_file("h200").string()));
  EXPECT_EQ(find_machine("T4").name, "t4") << "other names are not affected";
}

TEST_F(MachineNames, FilesOfOnesOwnHaveCapitalsAndAliases) {
  Json json = small();
  json["aliases"] = {"Big One"};
  write(machine_file("MyCard"), json.dump());
  write(machine_file("Broken"), "{");
  for (const char* name : {"MyCard", "mycard", "NVIDIA_MYCARD", "big-one", "BIG ONE"})
    EXPECT_EQ(find_machine(name).name, "MyCard") << name;

  write(machine_file("T4"), small().dump());
  EXPECT_EQ(find_machine("t4").title, "t");
  const auto names = machine_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "T4"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "t4"), 0) << "it would be the same file";
}

TEST_F(MachineNames, ADamagedFileIsNamed) {
  write(machine_file("here"), "{\"name\": \"he");
  const Error damaged = refusal([] { find_machine("here"); });
  EXPECT_TRUE(contains(damaged.what(), machine_file("here").string())) << damaged.what();
  EXPECT_TRUE(contains(damaged.hint(), "headroom roofline"));

  write(machine_file("mine"), R"({"title": "x", "kind": "gpu"})");
  const Error partial = refusal([] { find_machine("mine"); });
  EXPECT_TRUE(contains(partial.what(), machine_file("mine").string())) << partial.what();
  EXPECT_FALSE(partial.hint().empty());
}

TEST_F(MachineNames, APathNamesAFileOfOnesOwn) {
  write(folder_ / "desk.json", small().dump());
  EXPECT_EQ(find_machine((folder_ / "desk.json").string()).name, "desk");
  const Error error = refusal([&] { find_machine((folder_ / "absent.json").string()); });
  EXPECT_TRUE(contains(error.what(), "absent.json"));
}

}  // namespace machine_names_test
}  // namespace headroom::testing

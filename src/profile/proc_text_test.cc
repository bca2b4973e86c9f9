#include "profile/proc_text.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// Linux 6.1 on x86-64, and one second later.
constexpr const char* kX86 =
    "cpu  74608 2520 24433 1117073 6176 4054 0 120 0 0\n"
    "cpu0 37784 1260 12366 558536 3088 2027 0 60 0 0\n"
    "cpu1 36824 1260 12067 558537 3088 2027 0 60 0 0\n"
    "intr 8885917 17 0 0\nctxt 22848221\nbtime 1731750000\nprocesses 8543\n"
    "procs_running 2\nsoftirq 44543 0 1\n";
constexpr const char* kX86Later =
    "cpu  74708 2520 24433 1117173 6176 4054 0 120 0 0\n"
    "cpu0 37884 1260 12366 558536 3088 2027 0 60 0 0\n"
    "cpu1 36824 1260 12067 558637 3088 2027 0 60 0 0\n";
// Linux 6.18 on Arm.
constexpr const char* kArm =
    "cpu  3645882 1072088 490986 1087950 9106 0 1286 7469 0 0\n"
    "cpu0 1857388 538242 250811 500054 6286 0 1189 3726 0 0\n"
    "cpu1 1788494 533846 240175 587895 2820 0 96 3742 0 0\n"
    "intr 17445430 0 1520710 386627\n";

TEST(ProcText, CoresOfX86AndArm) {
  const auto x86 = parse_core_ticks(kX86), arm = parse_core_ticks(kArm);
  ASSERT_EQ(x86.size(), 3u);
  EXPECT_EQ(x86[0].core, -1);
  EXPECT_EQ(x86[2].core, 1);
  EXPECT_EQ(x86[1].busy, 37784 + 1260 + 12366 + 2027 + 60);
  EXPECT_EQ(x86[1].all, x86[1].busy + 558536 + 3088);
  ASSERT_EQ(arm.size(), 3u);
  EXPECT_EQ(arm[1].busy, 1857388 + 538242 + 250811 + 0 + 1189 + 3726) << "with stolen time";
}

TEST(ProcText, BusyIsAShareOfTheInterval) {
  const auto earlier = parse_core_ticks(kX86), later = parse_core_ticks(kX86Later);
  EXPECT_EQ(busy_percent(earlier[0], later[0]), 50);
  EXPECT_EQ(busy_percent(earlier[1], later[1]), 100);
  EXPECT_EQ(busy_percent(earlier[2], later[2]), 0);
  EXPECT_FALSE(busy_percent(earlier[1], earlier[1])) << "no time has passed";
  EXPECT_FALSE(busy_percent({0, 100, 200}, {0, 104, 204})) << "4 ticks are too few";
  EXPECT_EQ(busy_percent({0, 100, 200}, {0, 99, 210}), 0) << "the kernel may count back";
}

TEST(ProcText, OddCoreLinesAreLeftOut) {
  EXPECT_TRUE(parse_core_ticks("").empty());
  EXPECT_TRUE(parse_core_ticks("cpu\ncpu0 1 2 3\ncpux 1 2 3 4 5 6 7 8\nintr 1 2 3 4").empty());
  EXPECT_EQ(parse_core_ticks("cpu0 1 2 3 4").size(), 1u) << "Linux 2.4 had four fields";
}

TEST(ProcText, MemoryInUse) {
  EXPECT_EQ(used_memory_bytes("MemTotal:       24643328 kB\nMemFree:        19294836 kB\n"
                              "MemAvailable:   23611536 kB\nBuffers:           74104 kB\n"),
            1024.0 * (24643328 - 23611536));
  EXPECT_EQ(used_memory_bytes("MemTotal: 100 kB\nMemFree: 20 kB\nBuffers: 5 kB\nCached: 15 kB\n"),
            1024.0 * 60)
      << "a kernel that does not estimate what is available";
  EXPECT_FALSE(used_memory_bytes("MemTotal: 100 kB\n"));
  EXPECT_FALSE(used_memory_bytes(""));
}

TEST(ProcText, MemoryInAll) {
  EXPECT_EQ(total_memory_bytes("MemTotal:       24643328 kB\nMemFree:        19294836 kB\n"),
            1024.0 * 24643328);
  EXPECT_FALSE(total_memory_bytes("MemFree: 1 kB\nMemTotal: unknown\n"));
}

constexpr const char* kX86Info =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8462Y+\n"
    "stepping\t: 8\ncpu MHz\t\t: 2800.000\ncache size\t: 61440 KB\n\n"
    "processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8462Y+\n"
    "stepping\t: 8\ncpu MHz\t\t: 3599.871\ncache size\t: 61440 KB\n\n";
constexpr const char* kArmInfo =
    "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\n";

TEST(ProcText, FrequenciesWhereTheKernelPrintsThem) {
  EXPECT_EQ(core_mhz(kX86Info), (std::vector<double>{2800, 3599.871}));
  EXPECT_TRUE(core_mhz(kArmInfo).empty()) << "BogoMIPS is no frequency";
  EXPECT_TRUE(core_mhz("cpu MHz\t\t: unknown\ncpu MHz\ncpu MHz : 0\n").empty());
}

TEST(ProcText, ListsOfCpus) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("0"), std::vector<int>{0});
  for (const char* odd : {"", "\n", "a", "3-1", "0,3-1", "-1", "1-", "0,x", "0-2000000000"})
    EXPECT_TRUE(parse_cpu_list(odd).empty()) << odd;
}

TEST(ProcText, NameOfTheSystem) {
  EXPECT_EQ(system_name("NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(system_name("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(system_name("PRETTY_NAME=\""), "\"");
  EXPECT_EQ(system_name("ID=debian\n"), "");
}

TEST(ProcText, WordsOfACommand) {
  using namespace std::string_view_literals;
  EXPECT_EQ(command_words("headroom\0profile\0\0a b\0"sv),
            (std::vector<std::string>{"headroom", "profile", "", "a b"}));
  EXPECT_TRUE(command_words("").empty()) << "of a kernel thread";
}

constexpr const char* kProcess =
    "17202 (a b) c)) R 17191 17191 15823 0 -1 4194304 85 0 0 0 11 22 33 44 20 0 1 0 3159743 2867200 291 "
    "18446744073709551615 187650401370112 187650401403408 281474690776016 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";

TEST(ProcText, AProcessMayHaveAnyName) {
  const auto process = parse_process(kProcess);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 17202);
  EXPECT_EQ(process->parent, 17191);
  EXPECT_EQ(process->ticks, 11 + 22 + 33 + 44);
  EXPECT_EQ(process->resident_pages, 291);
  EXPECT_EQ(process->start_ticks, 3159743);
  EXPECT_FALSE(process->ended);
  std::string zombie = kProcess;
  zombie.replace(zombie.find(" R "), 3, " Z ");
  EXPECT_TRUE(parse_process(zombie)->ended);
  EXPECT_FALSE(parse_process("")) << "it ended while it was read";
  EXPECT_FALSE(parse_process("12 (x) S 1 2 3"));
}

TEST(ProcText, ATreeIsAProcessAndItsDescendants) {
  const std::vector<ProcessState> all = {{1, 0}, {7, 5}, {2, 1}, {5, 2}, {6, 1}, {8, 7}};
  std::vector<int> pids;
  for (const ProcessState& process : tree_of(2, all)) pids.push_back(process.pid);
  EXPECT_EQ(pids, (std::vector<int>{2, 5, 7, 8}));
  EXPECT_TRUE(tree_of(99, all).empty());
}

}  // namespace
}  // namespace headroom

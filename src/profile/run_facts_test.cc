#include "profile/run_facts.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/testing/bad_input.h"
#include "base/text.h"
#include "device/device.h"

namespace headroom {
namespace {

using testing::TemporaryFolder;

// "4096 KiB"; "" if there is no such fact.
std::string fact(const std::vector<RunFact>& facts, const std::string& group, const std::string& name) {
  for (const RunFact& f : facts)
    if (f.group == group && f.name == name) return f.unit.empty() ? f.value : f.value + " " + f.unit;
  return {};
}

// Two sockets of two cores of two threads, as x86-64 describes them.
TEST(RunFacts, SocketsCoresAndThreads) {
  const TemporaryFolder root;
  root.put("online", "0-7\n");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string folder = fmt::format("cpu{}/", cpu);
    root.put(folder + "topology/physical_package_id", cpu % 4 < 2 ? "0\n" : "1\n");
    root.put(folder + "topology/thread_siblings_list", fmt::format("{},{}\n", cpu % 4, cpu % 4 + 4));
    root.put(folder + "cpufreq/cpuinfo_max_freq", "3600000\n");
    root.put(folder + "cpufreq/scaling_cur_freq", cpu < 4 ? "2000000\n" : "3000000\n");
  }
  const CpuTopology topology = cpu_topology_in(root.path());
  EXPECT_EQ(topology.cpus.size(), 8u);
  EXPECT_EQ(topology.sockets, 2);
  EXPECT_EQ(topology.cores, 4);
  EXPECT_DOUBLE_EQ(topology.max_mhz, 3600);
  EXPECT_DOUBLE_EQ(topology.mhz, 2500);
}

// An Arm guest: one thread per core, no socket, no frequencies; and a container that shows nothing.
TEST(RunFacts, WhatAKernelDoesNotTellIsUnknown) {
  const TemporaryFolder root;
  root.put("online", "0-1\n");
  for (int cpu = 0; cpu < 2; ++cpu) {
    root.put(fmt::format("cpu{}/topology/physical_package_id", cpu), "-1\n");
    root.put(fmt::format("cpu{}/topology/thread_siblings_list", cpu), fmt::format("{}\n", cpu));
  }
  const CpuTopology topology = cpu_topology_in(root.path());
  EXPECT_EQ(topology.sockets, 0);
  EXPECT_EQ(topology.cores, 2);
  EXPECT_EQ(topology.max_mhz, 0);
  EXPECT_EQ(topology.mhz, 0);
  EXPECT_TRUE(cpu_topology_in(root.path() / "absent").cpus.empty());
}

TEST(RunFacts, OfAProcess) {
  const ProcessUse use{.command = {"headroom", "profile", "it's", "", "a b", "--batch=2"},
                       .folder = "/home/x\x1b[2J",
                       .user_s = 3,
                       .system_s = 0.5,
                       .elapsed_s = 2,
                       .minor_faults = 12,
                       .major_faults = 0,
                       .voluntary_switches = 7,
                       .peak_bytes = 3 << 19};
  const auto facts = facts_of(use);
  EXPECT_EQ(fact(facts, "process", "command"), R"(headroom profile 'it'\''s' '' 'a b' --batch=2)");
  EXPECT_EQ(fact(facts, "process", "working directory").find('\x1b'), std::string::npos);
  EXPECT_EQ(fact(facts, "process", "CPU"), "175.0 %");
  EXPECT_EQ(fact(facts, "process", "elapsed time"), "2.000 s");
  EXPECT_EQ(fact(facts, "process", "major page faults"), "0") << "a count, not an unknown";
  EXPECT_EQ(fact(facts, "process", "voluntary context switches"), "7");
  EXPECT_EQ(fact(facts, "process", "peak memory"), "1.5 MiB");
  ProcessUse timeless = use;
  timeless.elapsed_s = 0;
  EXPECT_EQ(fact(facts_of(timeless), "process", "CPU"), "") << "a share of an unknown time";
}

TEST(RunFacts, OfThisProcess) {
  const ProcessUse first = process_use();
  ::usleep(50'000);
  const ProcessUse later = process_use();
  ASSERT_GT(first.elapsed_s, 0);
  EXPECT_LT(first.elapsed_s, 4 * 3600) << "since the process began, not since the machine did";
  EXPECT_GT(later.elapsed_s - first.elapsed_s, 0.049);
  EXPECT_GT(later.peak_bytes, 1 << 20);
  EXPECT_GT(later.minor_faults, 0);
  EXPECT_GE(later.user_s, first.user_s);
  ASSERT_FALSE(first.command.empty());
  EXPECT_EQ(first.command[0], program_invocation_name);
  EXPECT_EQ(first.folder, std::filesystem::current_path().string());
}

TEST(RunFacts, OfThisHost) {
  const auto facts = host_facts();
  EXPECT_EQ(fact(facts, "CPU", "type"), cpu_capabilities().name);
  EXPECT_NE(fact(facts, "host", "kernel").find("Linux"), std::string::npos);
  EXPECT_EQ(fact(facts, "host", "page size"), fmt::format("{} KiB", ::sysconf(_SC_PAGESIZE) / 1024));
  EXPECT_GT(std::stod(fact(facts, "host", "memory")), 64);
  const auto online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (const std::string threads = fact(facts, "CPU", "threads"); !threads.empty()) {
    EXPECT_EQ(std::stol(threads), online);
  }
  for (const RunFact& f : facts) {
    EXPECT_FALSE(f.value.empty()) << f.name;
    EXPECT_EQ(std::ranges::count_if(facts,
                                    [&](const RunFact& o) { return o.group == f.group && o.name == f.name; }),
              1)
        << f.group << " " << f.name;
  }
}

// The figures of an H200, as its driver gives them.
TEST(RunFacts, OfAGpu) {
  const GpuDescription h200{.name = "NVIDIA H200",
                            .pci = "0000:0A:00.0",
                            .driver = "13.0",
                            .runtime = "13.0",
                            .compute_capability = 90,
                            .multiprocessors = 132,
                            .warp_size = 32,
                            .copy_engines = 3,
                            .bus_bits = 6144,
                            .core_khz = 1.98e6,
                            .memory_khz = 3.201e6,
                            .memory_bytes = 150'000'000'000,
                            .constant_bytes = 65536,
                            .l2_bytes = 62'914'560,
                            .blocks = 32,
                            .threads = 2048,
                            .registers = 65536,
                            .shared_bytes = 233'472,
                            .block_threads = 1024,
                            .block_shared_bytes = 232'448,
                            .ecc = true};
  const auto facts = facts_of(h200);
  EXPECT_EQ(fact(facts, "GPU", "compute capability"), "9.0");
  EXPECT_EQ(fact(facts, "GPU", "memory bandwidth"), "4916.7 GB/s") << "2 x 3.201 GHz x 768 bytes";
  EXPECT_EQ(fact(facts, "GPU", "warps per multiprocessor"), "64");
  EXPECT_EQ(fact(facts, "GPU", "constant memory"), "64 KiB");
  EXPECT_EQ(fact(facts, "GPU", "shared memory per multiprocessor"), "228 KiB");
  EXPECT_EQ(fact(facts, "GPU", "instructions per cycle"), "4");
  EXPECT_EQ(fact(facts, "GPU", "ECC"), "on");
  EXPECT_EQ(fact(facts, "GPU", "libraries"), "") << "not known";
  EXPECT_EQ(fact(facts_of(GpuDescription{.name = "GTX 1080", .compute_capability = 61}), "GPU",
                 "instructions per cycle"),
            "");
}

// Every fact of a real device is there.
TEST(RunFacts, CudaOfThisGpu) {
  if (survey_gpus().gpus.empty()) GTEST_SKIP() << survey_gpus().why_not;
  const auto device = open_device("cuda:0");
  const auto facts = gpu_facts(*device);
  EXPECT_EQ(fact(facts, "GPU", "name"), device->capabilities().name);
  EXPECT_EQ(fact(facts, "GPU", "multiprocessors"), std::to_string(device->capabilities().multiprocessors));
  for (const char* name :
       {"core clock", "memory clock", "memory bus", "memory bandwidth", "memory", "L2 cache",
        "constant memory", "blocks per multiprocessor", "warps per multiprocessor",
        "registers per multiprocessor", "shared memory per multiprocessor", "copy engines", "warp size",
        "PCI address", "CUDA of the driver", "CUDA runtime"})
    EXPECT_NE(fact(facts, "GPU", name), "") << name;
}

TEST(RunFacts, ACpuHasNoFactsOfAGpu) {
  const auto device = open_device("cpu");
  EXPECT_TRUE(gpu_facts(*device).empty());
}

}  // namespace
}  // namespace headroom

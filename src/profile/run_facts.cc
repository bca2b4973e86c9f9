#include "profile/run_facts.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "device/device.h"
#include "machine/cache_levels.h"
#include "profile/cuda/device_facts.h"
#include "profile/proc_text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

// Facts of one group. Numbers that are 0 are not known, and left out.
class FactList {
 public:
  explicit FactList(std::string group) : group_(std::move(group)) {}
  void text(const char* name, const std::string& value) {
    if (!value.empty()) facts_.push_back({group_, name, printable(value)});
  }
  void number(const std::string& name, double value, const char* unit = "", int digits = 0) {
    if (value > 0) facts_.push_back({group_, name, fmt::format("{:.{}f}", value, digits), unit});
  }
  void count(const char* name, std::int64_t value) {  // 0 is a count like any other
    facts_.push_back({group_, name, std::to_string(value)});
  }
  std::vector<RunFact> take() { return std::move(facts_); }

 private:
  std::string group_;
  std::vector<RunFact> facts_;
};

constexpr double kKib = 1024, kMib = 1024 * 1024;

// Empty if there is nothing to read: every fact is optional.
std::string fact_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double fact_number(const fs::path& path) {
  std::istringstream text(fact_file(path));
  double number = 0;
  return text >> number ? number : 0;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0 : sum / double(values.size());
}

void add_caches(FactList& facts, const std::vector<int>& cpus) {
  const int threads = static_cast<int>(cpus.size());
  std::vector<CacheLevel> data = cache_levels_in(kCpuFolder, cpus, threads);
  if (data.empty()) data = cache_levels_from_sysconf(threads);
  const auto add = [&](const std::string& name, const CacheLevel& level) {
    facts.number(name + " cache", double(level.bytes) / kKib, "KiB");
    facts.number(name + " caches", level.instances);
  };
  for (const CacheLevel& level : data) {
    add(level.name == "L1" ? "L1d" : level.name, level);
    if (level.name != "L1") continue;
    for (const CacheLevel& code : cache_levels_in(kCpuFolder, cpus, threads, CacheKind::instruction))
      add(code.name + "i", code);
  }
}

std::vector<RunFact> cpu_facts() {
  FactList facts("CPU");
  CpuTopology topology = cpu_topology_in(kCpuFolder);
  const auto usable = static_cast<int>(allowed_cpus(kCpuFolder).size());
  facts.text("type", cpu_capabilities().name);
  facts.number("sockets", topology.sockets);
  facts.number("cores", topology.cores);
  facts.number("threads", double(topology.cpus.size()));
  facts.number("threads of this process", usable);
  facts.number("limit of the container", cpu_quota("/sys/fs/cgroup/cpu.max"), "threads", 2);
  facts.number("maximal frequency", topology.max_mhz, "MHz");
  if (topology.mhz <= 0) topology.mhz = mean_of(core_mhz(fact_file("/proc/cpuinfo")));
  facts.number("frequency", topology.mhz, "MHz");
  add_caches(facts, topology.cpus);
  return facts.take();
}

// As a shell would take it again.
std::string quoted(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

double elapsed_of_process() {
  const auto process = parse_process(fact_file("/proc/self/stat"));
  timespec now{};
  if (!process || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const double begin = double(process->start_ticks) / double(::sysconf(_SC_CLK_TCK));
  return std::max(0.0, double(now.tv_sec) + 1e-9 * double(now.tv_nsec) - begin);
}

// Two transfers in each cycle of the memory's clock.
double bandwidth_of(const GpuDescription& gpu) { return 2 * gpu.memory_khz * 1e3 * gpu.bus_bits / 8; }

}  // namespace

CpuTopology cpu_topology_in(const fs::path& root) {
  CpuTopology topology{.cpus = parse_cpu_list(fact_file(root / "online"))};
  std::set<std::string> sockets, cores;
  std::vector<double> mhz;
  for (const int cpu : topology.cpus) {
    const fs::path folder = root / fmt::format("cpu{}", cpu);
    const std::string socket = fact_file(folder / "topology/physical_package_id");
    if (!socket.empty() && !socket.starts_with("-")) sockets.insert(socket);  // -1: the firmware does not say
    const std::string core = fact_file(folder / "topology/thread_siblings_list");
    if (!core.empty()) cores.insert(core);
    topology.max_mhz = std::max(topology.max_mhz, fact_number(folder / "cpufreq/cpuinfo_max_freq") / 1e3);
    const double now = fact_number(folder / "cpufreq/scaling_cur_freq") / 1e3;
    if (now > 0) mhz.push_back(now);
  }
  topology.sockets = static_cast<int>(sockets.size());
  topology.cores = static_cast<int>(cores.size());
  topology.mhz = mean_of(mhz);
  return topology;
}

std::vector<RunFact> host_facts() {
  FactList facts("host");
  utsname system{};
  ::uname(&system);
  facts.text("name", system.nodename);
  facts.text("operating system", system_name(fact_file("/etc/os-release")));
  facts.text("kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  facts.number("memory", total_memory_bytes(fact_file("/proc/meminfo")).value_or(0) / kMib, "MiB");
  facts.number("page size", double(::sysconf(_SC_PAGESIZE)) / kKib, "KiB");
  std::vector<RunFact> all = facts.take();
  std::ranges::move(cpu_facts(), std::back_inserter(all));
  return all;
}

ProcessUse process_use() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  std::error_code error;
  return {.command = command_words(fact_file("/proc/self/cmdline")),
          .folder = fs::current_path(error).string(),
          .user_s = seconds(usage.ru_utime),
          .system_s = seconds(usage.ru_stime),
          .elapsed_s = elapsed_of_process(),
          .minor_faults = usage.ru_minflt,
          .major_faults = usage.ru_majflt,
          .voluntary_switches = usage.ru_nvcsw,
          .involuntary_switches = usage.ru_nivcsw,
          .peak_bytes = std::int64_t{usage.ru_maxrss} * 1024};
}

std::vector<RunFact> facts_of(const ProcessUse& use) {
  FactList facts("process");
  facts.text("command", quoted(use.command));
  facts.text("working directory", use.folder);
  facts.number("user time", use.user_s, "s", 3);
  facts.number("system time", use.system_s, "s", 3);
  facts.number("elapsed time", use.elapsed_s, "s", 3);
  if (use.elapsed_s > 0) facts.number("CPU", 100 * (use.user_s + use.system_s) / use.elapsed_s, "%", 1);
  facts.count("minor page faults", use.minor_faults);
  facts.count("major page faults", use.major_faults);
  facts.count("voluntary context switches", use.voluntary_switches);
  facts.count("involuntary context switches", use.involuntary_switches);
  facts.number("peak memory", double(use.peak_bytes) / kMib, "MiB", 1);
  return facts.take();
}

std::vector<RunFact> process_facts() { return facts_of(process_use()); }

std::vector<RunFact> facts_of(const GpuDescription& gpu) {
  FactList facts("GPU");
  const int capability = gpu.compute_capability;
  facts.text("name", gpu.name);
  if (capability > 0)
    facts.text("compute capability", fmt::format("{}.{}", capability / 10, capability % 10));
  facts.number("multiprocessors", gpu.multiprocessors);
  facts.number("core clock", gpu.core_khz / 1e3, "MHz");
  facts.number("memory clock", gpu.memory_khz / 1e3, "MHz");
  facts.number("memory bus", gpu.bus_bits, "bit");
  facts.number("memory bandwidth", bandwidth_of(gpu) / 1e9, "GB/s", 1);
  facts.number("memory", double(gpu.memory_bytes) / kMib, "MiB");
  facts.number("constant memory", double(gpu.constant_bytes) / kKib, "KiB");
  facts.number("L2 cache", double(gpu.l2_bytes) / kKib, "KiB");
  facts.number("blocks per multiprocessor", double(gpu.blocks));
  if (gpu.warp_size > 0)
    facts.number("warps per multiprocessor", double(gpu.threads) / double(gpu.warp_size));
  facts.number("threads per multiprocessor", double(gpu.threads));
  facts.number("registers per multiprocessor", double(gpu.registers));
  facts.number("shared memory per multiprocessor", double(gpu.shared_bytes) / kKib, "KiB");
  facts.number("threads per block", double(gpu.block_threads));
  facts.number("shared memory per block", double(gpu.block_shared_bytes) / kKib, "KiB");
  // Since Volta each of the four parts of a multiprocessor issues one instruction in a cycle; CUDA does not
  // tell.
  if (capability >= 70) facts.number("instructions per cycle", 4);
  facts.number("copy engines", gpu.copy_engines);
  facts.number("warp size", gpu.warp_size);
  facts.text("PCI address", gpu.pci);
  facts.text("ECC", gpu.name.empty() ? "" : gpu.ecc ? "on" : "off");
  facts.text("CUDA of the driver", gpu.driver);
  facts.text("CUDA runtime", gpu.runtime);
  facts.text("libraries", gpu.libraries);
  return facts.take();
}

std::vector<RunFact> gpu_facts(Device& device) {
  if (device.kind() == DeviceKind::cpu) return {};
#ifdef HEADROOM_HAS_CUDA
  return facts_of(describe_gpu(device));
#else
  fail("a device '{}' in a program built without CUDA", device.capabilities().name);
#endif
}

}  // namespace headroom

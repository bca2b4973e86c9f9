#include "bench/copy.h"

#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/host_memory.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace {

constexpr std::int64_t kNextCopy = 4;  // each size is this many times the one before

struct CopyKind {
  std::string path, memory;
  std::function<void(std::size_t bytes)>
      prepare;                                  // brings the source to where the copy reads it; may be empty
  std::function<void(std::size_t bytes)> copy;  // queued, or done when it returns
  std::function<void*(std::size_t bytes)> host_copy;  // the host's view of the last copy
  std::function<double(std::int64_t bytes)> ceiling;
};

// The source's content: differs from place to place and from round to round.
void fill_source(std::byte* data, std::size_t bytes, unsigned round) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + (i >> 8) + round);
}

void memcpy_by_team(void* to, const void* from, std::size_t bytes) {
  parallel_for(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t begin, std::int64_t end, int) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

class CopyBench {
 public:
  CopyBench(Device& device, const Machine& machine, std::int64_t max_bytes)
      : device_(device),
        machine_(machine),
        source_(static_cast<std::size_t>(max_bytes)),
        result_(source_.size()) {
    device.kind() == DeviceKind::cpu ? add_cpu_kinds() : add_gpu_kinds();
  }

  std::vector<CopyTiming> time(std::int64_t bytes) {
    std::vector<CopyTiming> timings;
    for (const CopyKind& kind : kinds_) {
      check(kind, static_cast<std::size_t>(bytes));
      const bool cpu = device_.kind() == DeviceKind::cpu;
      // Several copies in one sample only where the clock is too coarse for one.
      const SamplerOptions options{.warm_ups = 2,
                                   .min_samples = 7,
                                   .max_samples = 200,
                                   .max_seconds = 0.2,
                                   .min_sample_seconds = cpu ? 50e-6 : 0,
                                   .noise = 0.005};
      timings.push_back(
          {.path = kind.path,
           .memory = kind.memory,
           .bytes = bytes,
           .seconds = sample(device_, options, [&] { kind.copy(static_cast<std::size_t>(bytes)); }),
           .ceiling = kind.ceiling(bytes)});
    }
    return timings;
  }

 private:
  void check(const CopyKind& kind, std::size_t bytes) {
    fill_source(source_.data(), bytes, ++round_);
    if (kind.prepare) kind.prepare(bytes);
    kind.copy(bytes);
    device_.stream().synchronize();
    if (std::memcmp(kind.host_copy(bytes), source_.data(), bytes) != 0)
      fail("a copy of {} bytes ({}, {}) differs from its source", bytes, kind.path, kind.memory);
  }

  void add_cpu_kinds() {
    const auto result = [this](std::size_t) -> void* { return result_.data(); };
    const auto ceiling = [this](bool one) {
      return [this, one](std::int64_t bytes) {
        const Machine::Level& level = machine_.level_for(2.0 * static_cast<double>(bytes));
        const double rate =
            one && level.one_core_bytes_per_s > 0 ? level.one_core_bytes_per_s : level.bytes_per_s;
        return rate / 2;  // what is copied is read and written
      };
    };
    kinds_.push_back({"memcpy",
                      "1 thread",
                      {},
                      [this](std::size_t bytes) { std::memcpy(result_.data(), source_.data(), bytes); },
                      result,
                      ceiling(true)});
    if (const int threads = device_.capabilities().threads; threads > 1)
      kinds_.push_back({"memcpy",
                        counted(threads, "thread"),
                        {},
                        [this](std::size_t bytes) { memcpy_by_team(result_.data(), source_.data(), bytes); },
                        result,
                        ceiling(false)});
  }

  void add_gpu_kinds() {
    there_ = device_.allocate(source_.size());
    beside_ = device_.allocate(source_.size());
    pinned_ = device_.allocate_host(source_.size());
    const auto downloaded = [this](const Buffer& from) {
      return [this, &from](std::size_t bytes) -> void* {
        device_.download(result_.data(), from.data(), bytes);
        return result_.data();
      };
    };
    double link = link_of_table(device_.capabilities().name);
    if (link == 0) link = machine_.host_link.bytes_per_s;
    const auto of_link = [link](std::int64_t) { return link; };
    const auto up = [this](const void* from) {
      return [this, from](std::size_t bytes) {
        device_.upload_async(there_.data(), from, bytes, device_.stream());
      };
    };
    const auto down = [this](void* to) {
      return [this, to](std::size_t bytes) {
        device_.download_async(to, there_.data(), bytes, device_.stream());
      };
    };
    const auto at = [](void* data) { return [data](std::size_t) { return data; }; };
    const auto to_pinned = [this](std::size_t bytes) { std::memcpy(pinned_.data(), source_.data(), bytes); };
    const auto to_device = [this](std::size_t bytes) {
      device_.upload(there_.data(), source_.data(), bytes);
    };
    kinds_.push_back(
        {"host to device", "pinned", to_pinned, up(pinned_.data()), downloaded(there_), of_link});
    kinds_.push_back({"host to device", "pageable", {}, up(source_.data()), downloaded(there_), of_link});
    kinds_.push_back(
        {"device to host", "pinned", to_device, down(pinned_.data()), at(pinned_.data()), of_link});
    kinds_.push_back(
        {"device to host", "pageable", to_device, down(result_.data()), at(result_.data()), of_link});
    kinds_.push_back({"on the device", "device", to_device,
                      [this](std::size_t bytes) { device_.copy(beside_.data(), there_.data(), bytes); },
                      downloaded(beside_),
                      [this](std::int64_t bytes) {
                        return machine_.level_for(2.0 * static_cast<double>(bytes)).bytes_per_s / 2;
                      }});
  }

  Device& device_;
  const Machine& machine_;
  std::vector<std::byte> source_, result_;
  Buffer there_, beside_, pinned_;
  std::vector<CopyKind> kinds_;
  unsigned round_ = 0;
};

// Nothing of an unknown name or a damaged file.
Machine readable_machine(const std::string& name) {
  try {
    return find_machine(name);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void require_copies(const Device& device, std::int64_t max_bytes) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 36;
  if (max_bytes < kLeastCopy || max_bytes > kLimit)
    reject("`max-bytes` is {}; it must lie between {} and {} (64 GiB)", max_bytes, kLeastCopy, kLimit);
  const bool gpu = device.kind() != DeviceKind::cpu;
  const auto check = [&](double times, double usable, const std::string& where) {
    require_fits(fmt::format("`max-bytes` {}", max_bytes), times * static_cast<double>(max_bytes), usable,
                 where, static_cast<std::int64_t>(usable / times), "bytes");
  };
  check(gpu ? 3 : 2, usable_host_bytes(), "host memory");
  if (gpu) check(2, usable_bytes(device), "memory of " + device.capabilities().name);
}

double link_of_table(const std::string& gpu_name) {
  double link = 0;
  // If it is not in the table under this name, a close relative may be.
  if (const Machine machine = readable_machine(gpu_name); machine.kind == "gpu" && !machine.measured)
    return machine.host_link.bytes_per_s;
  for (const std::string& name : machine_names()) {
    const Machine machine = readable_machine(name);
    if (machine.kind != "gpu" || machine.measured || machine.host_link.bytes_per_s == 0) continue;
    const std::vector<std::string> words = split(machine.title, ' ');
    if (words.size() < 2 || !(gpu_name + " ").starts_with(words[0] + " " + words[1] + " ")) continue;
    if (link != 0 && link != machine.host_link.bytes_per_s) return 0;  // cards of one name on different links
    link = machine.host_link.bytes_per_s;
  }
  return link;
}

std::vector<CopyTiming> bench_copies(Device& device, const Machine& machine, std::int64_t max_bytes,
                                     const std::function<void(const std::string&)>& progress) {
  CopyBench bench(device, machine, max_bytes);
  std::vector<CopyTiming> timings;
  for (std::int64_t bytes = kLeastCopy; bytes <= max_bytes; bytes *= kNextCopy) {
    progress(human_bytes(static_cast<double>(bytes)));
    for (CopyTiming& timing : bench.time(bytes)) timings.push_back(std::move(timing));
  }
  return timings;
}

}  // namespace headroom

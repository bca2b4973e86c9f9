#include "device/cpu/cpu_device.h"

#include <omp.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "device/cpu/levels.h"
#include "device/cpu/matrix_units.h"

namespace headroom {
namespace {

// "Neoverse-V1" or "Intel(R) Xeon(R) …"; Arm kernels print only numbers, so the part code gives the name.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, part;
  while (std::getline(info, line)) {
    const auto value = line.find(": ");
    if (value == std::string::npos) continue;
    if (line.starts_with("model name")) return line.substr(value + 2);
    if (line.starts_with("CPU part")) part = line.substr(value + 2);
  }
  if (part == "0xd40") return "Neoverse-V1";
  if (part == "0xd4f") return "Neoverse-V2";
  if (part == "0xd0c") return "Neoverse-N1";
  if (part == "0xd49") return "Neoverse-N2";
  return part.empty() ? "CPU" : "Arm part " + part;
}

// Work is finished when its call returns, so an event is the time of its recording.
class Moment final : public Event {
 public:
  void record(Stream&) override { at_ = Clock::now(); }
  void hold(Stream&) override {}
  void synchronize() override {}
  double seconds_since(const Event& earlier) const override {
    return std::chrono::duration<double>(at_ - static_cast<const Moment&>(earlier).at_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_;
};

}  // namespace

Capabilities cpu_capabilities(int threads) {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  return {.kind = DeviceKind::cpu,
          .name = cpu_name(),
          .threads = threads > 0 ? threads : omp_get_num_procs(),
          .vector_bytes = used_cpu_level().vector_bytes,
          .memory_bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page),
          .bf16_products = cpu_matrix_units().bf16(),
          .bf16_tiles = cpu_matrix_units().amx_bf16};
}

CpuDevice::CpuDevice(int threads) : capabilities_(cpu_capabilities(threads)) {
  omp_set_dynamic(0);
  omp_set_num_threads(capabilities_.threads);
}

void CpuDevice::upload(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }
void CpuDevice::download(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }
void CpuDevice::copy(void* dst, const void* src, std::size_t bytes) { std::memmove(dst, src, bytes); }
void CpuDevice::zero(void* dst, std::size_t bytes) { std::memset(dst, 0, bytes); }

std::unique_ptr<Event> CpuDevice::make_event() { return std::make_unique<Moment>(); }

std::size_t CpuDevice::free_bytes_now() const {
  return static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
}

void* CpuDevice::allocate_bytes(std::size_t bytes, bool) {
  if (void* data = std::aligned_alloc(kAlignment, bytes)) return data;
  fail("out of memory: {} bytes of host memory were refused", bytes);
}

void CpuDevice::free_bytes(void* data, bool) noexcept { std::free(data); }

}  // namespace headroom

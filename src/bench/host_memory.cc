#include "bench/host_memory.h"

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "profile/proc_text.h"

namespace headroom {
namespace {

constexpr double kUsableShare = 0.9;  // the rest is for the program itself and its neighbours

}  // namespace

double usable_host_bytes() {
  double bytes = static_cast<double>(cpu_capabilities().memory_bytes);
  try {
    const std::string text = read_file("/proc/meminfo");
    const auto total = total_memory_bytes(text), used = used_memory_bytes(text);
    if (total && used) bytes = *total - *used;
  } catch (const Error&) {  // a system without /proc: its whole memory has to do
  }
  return kUsableShare * bytes;
}

double usable_bytes(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return usable_host_bytes();
  return kUsableShare * static_cast<double>(device.free_bytes_now());
}

void require_fits(std::string_view what, double bytes, double usable, std::string_view where,
                  std::int64_t fits, std::string_view of) {
  if (bytes <= usable) return;
  reject(Hint{fmt::format("at most {} {} fit", with_commas(fits), of)}, "{} needs {} of {}, and {} are free",
         what, human_bytes(bytes), where, human_bytes(usable));
}

}  // namespace headroom

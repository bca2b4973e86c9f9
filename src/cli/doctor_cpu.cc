#include "cli/doctor_cpu.h"

#include "device/cpu/extension_names.h"
#include "device/cpu/levels.h"
#include "device/cpu/matrix_units.h"
#include "device/device.h"
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/gemm_tile.h"
#include "ops/cpu/int8_tile.h"

namespace headroom::cli {

std::string instructions_text() {
  const std::string used = extension_text(program_extensions),
                    unused = extension_text(processor_extensions() & ~program_extensions);
  return "built for " + (used.empty() ? "any processor" : used) +
         (unused.empty() ? "" : "; the processor also has " + unused);
}

namespace {
std::string_view bf16_name() { return bf16::used() == nullptr ? "none" : bf16::used()->name; }
}  // namespace

std::string products_text() {
  const gemm_tile::Version& used = gemm_tile::used();
  std::vector<std::string_view> others;
  for (const gemm_tile::Version& version : gemm_tile::versions())
    if (version.name != used.name) others.push_back(version.name);
  return fmt::format("register tiles of {}, {} x {} in fp32{}{}", used.name, used.f32.rows, used.f32.columns,
                     others.empty() ? "" : "; also here: ", fmt::join(others, ", "));
}

std::string matrix_units_text() {
  return fmt::format("bf16 by {}, int8 by {}; the processor has: {}", bf16_name(),
                     int8::versions().front().name, cpu_matrix_units().text());
}

bool best_level_used() {
  const std::string_view used = used_cpu_level().name;
  return used == "native" || used == processor_level();
}

Json cpu_json() {
  const Capabilities cpu = cpu_capabilities();
  return {{"name", cpu.name},
          {"threads", cpu.threads},
          {"vector_bytes", cpu.vector_bytes},
          {"built_for", extension_names(program_extensions)},
          {"extensions", extension_names(processor_extensions())},
          {"levels_built", cpu_level_names()},
          {"level_found", processor_level()},
          {"level_used", used_cpu_level().name},
          {"gemm_tile", gemm_tile::used().name},
          {"bf16_tile", bf16_name()},
          {"int8_tile", int8::versions().front().name},
          {"memory_bytes", cpu.memory_bytes}};
}

}  // namespace headroom::cli

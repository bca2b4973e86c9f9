#include "report/machine_code.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/demangle.h"
#include "base/text.h"
#include "profile/gpu_occupancy.h"
#include "report/kernel_names.h"

namespace headroom {
namespace {

constexpr std::array kCodeKinds = {CodeKind::fp32,    CodeKind::fp64,   CodeKind::fp16,   CodeKind::tensor,
                                   CodeKind::integer, CodeKind::global, CodeKind::shared, CodeKind::local,
                                   CodeKind::control, CodeKind::other};

struct OpcodeKind {
  std::string_view begins;  // the part of an opcode before its first dot
  CodeKind kind;
};

// Opcodes by how they begin; the first that fits counts.
constexpr OpcodeKind kOpcodes[] = {
    {"HMMA", CodeKind::tensor},   {"HGMMA", CodeKind::tensor},    {"IMMA", CodeKind::tensor},
    {"IGMMA", CodeKind::tensor},  {"DMMA", CodeKind::tensor},     {"QGMMA", CodeKind::tensor},
    {"BMMA", CodeKind::tensor},   {"LDGSTS", CodeKind::global},   {"LDGDEPBAR", CodeKind::other},
    {"LDG", CodeKind::global},    {"STG", CodeKind::global},      {"ATOMG", CodeKind::global},
    {"RED", CodeKind::global},    {"UTMA", CodeKind::global},     {"UBLKCP", CodeKind::global},
    {"LDSM", CodeKind::shared},   {"LDS", CodeKind::shared},      {"STSM", CodeKind::shared},
    {"STS", CodeKind::shared},    {"ATOMS", CodeKind::shared},    {"LDL", CodeKind::local},
    {"STL", CodeKind::local},     {"FFMA", CodeKind::fp32},       {"FADD", CodeKind::fp32},
    {"FMUL", CodeKind::fp32},     {"FSETP", CodeKind::fp32},      {"FMNMX", CodeKind::fp32},
    {"FSEL", CodeKind::fp32},     {"MUFU", CodeKind::fp32},       {"DFMA", CodeKind::fp64},
    {"DADD", CodeKind::fp64},     {"DMUL", CodeKind::fp64},       {"DSETP", CodeKind::fp64},
    {"HFMA2", CodeKind::fp16},    {"HADD2", CodeKind::fp16},      {"HMUL2", CodeKind::fp16},
    {"HSETP2", CodeKind::fp16},   {"HMNMX2", CodeKind::fp16},     {"IMAD", CodeKind::integer},
    {"IADD", CodeKind::integer},  {"UIADD", CodeKind::integer},   {"UIMAD", CodeKind::integer},
    {"LEA", CodeKind::integer},   {"ULEA", CodeKind::integer},    {"LOP3", CodeKind::integer},
    {"ULOP3", CodeKind::integer}, {"SHF", CodeKind::integer},     {"USHF", CodeKind::integer},
    {"ISETP", CodeKind::integer}, {"UISETP", CodeKind::integer},  {"IMNMX", CodeKind::integer},
    {"VIADD", CodeKind::integer}, {"BRA", CodeKind::control},     {"BRX", CodeKind::control},
    {"BSSY", CodeKind::control},  {"BSYNC", CodeKind::control},   {"BREAK", CodeKind::control},
    {"EXIT", CodeKind::control},  {"CALL", CodeKind::control},    {"RET", CodeKind::control},
    {"BAR", CodeKind::control},   {"WARPSYNC", CodeKind::control}};

std::string_view stripped(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "REG:16" in a line of fields; 0 if it is not there.
std::int64_t field_of(std::string_view line, std::string_view name) {
  const std::string wanted = std::string(name) + ":";
  for (const std::string& word : split(line, ' '))
    if (word.starts_with(wanted)) return parse_int(word.substr(wanted.size()), "a field of cuobjdump");
  return 0;
}

// "sm_90" or "sm_90a" somewhere in a line, as 90; 0 without.
int architecture_in(std::string_view line) {
  const auto at = line.find("sm_");
  int number = 0;
  for (std::size_t i = at + 3; at != line.npos && i < line.size() && std::isdigit(line[i]); ++i)
    number = 10 * number + (line[i] - '0');
  return number;
}

// The opcode of "/*0010*/  @!P0 LDG.E R2, [R4] ;"; empty if the line has none.
std::string_view opcode_in(std::string_view line) {
  line = stripped(line);
  if (!line.starts_with("/*") || line.starts_with("/* ")) return {};
  const auto end = line.find("*/");
  if (end == line.npos) return {};
  line = stripped(line.substr(end + 2));
  if (line.starts_with("{")) line = stripped(line.substr(1));
  if (line.starts_with("@")) line = stripped(line.substr(std::min(line.size(), line.find(' '))));
  return line.substr(0, line.find_first_of(" ;"));
}

KernelOccupancy occupancy_for(const KernelCode& kernel, int threads, const SmLimits& limits) {
  Trace::Kernel launch;
  launch.block = {threads, 1, 1};
  launch.registers = kernel.registers;
  launch.static_shared = kernel.shared_bytes;
  return occupancy_of(launch, limits);
}

}  // namespace

std::string_view name_of(CodeKind kind) {
  constexpr std::string_view names[] = {"fp32",   "fp64",   "fp16",  "tensor",  "integer",
                                        "global", "shared", "local", "control", "other"};
  return names[static_cast<std::size_t>(kind)];
}

CodeKind kind_of_instruction(std::string_view opcode) {
  for (const OpcodeKind& known : kOpcodes)
    if (opcode.starts_with(known.begins)) return known.kind;
  return CodeKind::other;
}

std::int64_t KernelCode::total() const {
  std::int64_t sum = 0;
  for (const auto& [kind, count] : instructions) sum += count;
  return sum;
}

std::vector<KernelCode> parse_resource_usage(std::string_view text) {
  std::vector<KernelCode> kernels;
  int architecture = 0;
  std::string name;
  for (const std::string& raw : split(text, '\n')) {
    const std::string_view line = stripped(raw);
    if (line.starts_with("arch = ")) architecture = architecture_in(line);
    if (line.starts_with("Function ") && line.ends_with(":"))
      name = line.substr(9, line.size() - 10);
    else if (line.starts_with("REG:") && !name.empty())
      kernels.push_back({.name = std::exchange(name, {}),
                         .architecture = architecture,
                         .registers = static_cast<int>(field_of(line, "REG")),
                         .stack_bytes = field_of(line, "STACK"),
                         .shared_bytes = field_of(line, "SHARED"),
                         .local_bytes = field_of(line, "LOCAL")});
  }
  return kernels;
}

void add_instructions(std::vector<KernelCode>& kernels, std::string_view text) {
  KernelCode* current = nullptr;
  int architecture = 0;
  for (const std::string& raw : split(text, '\n')) {
    const std::string_view line = stripped(raw);
    if (line.starts_with("code for ")) architecture = architecture_in(line);
    if (line.starts_with("Function : ")) {
      const auto is_it = [&](const KernelCode& k) {
        return k.name == line.substr(11) && (architecture == 0 || k.architecture == architecture);
      };
      const auto it = std::ranges::find_if(kernels, is_it);
      current = it == kernels.end() ? nullptr : &*it;
      continue;
    }
    const std::string_view opcode = opcode_in(line);
    if (current != nullptr && !opcode.empty() && opcode != "NOP")
      ++current->instructions[kind_of_instruction(opcode)];
  }
}

Sheet machine_code_sheet(const std::vector<KernelCode>& kernels, int threads) {
  using F = Column::Format;
  std::vector<Column> columns = {{.key = "kernel", .title = "kernel"},
                                 {.key = "architecture", .title = "sm", .priority = 2},
                                 {.key = "registers", .title = "registers"},
                                 {.key = "spill_bytes", .title = "spills B", .dash_zero = true},
                                 {.key = "stack_bytes", .title = "stack B", .dash_zero = true, .priority = 2},
                                 {.key = "shared_bytes", .title = "shared B", .dash_zero = true},
                                 {.key = "occupancy_percent", .title = "occupancy %", .format = F::tenths},
                                 {.key = "limit", .title = "limit", .left = true, .priority = 1},
                                 {.key = "instructions", .title = "instructions"}};
  for (const CodeKind kind : kCodeKinds)
    columns.push_back({.key = std::string(name_of(kind)) + "_percent",
                       .title = std::string(name_of(kind)) + " %",
                       .format = F::tenths,
                       .dash_zero = true});
  Sheet sheet("machine_code", columns);
  for (const KernelCode& kernel : kernels) {
    const auto limits = sm_limits(kernel.architecture);
    const KernelOccupancy occupancy = limits ? occupancy_for(kernel, threads, *limits) : KernelOccupancy{};
    const std::int64_t total = kernel.total();
    std::vector<Cell> cells = {short_kernel_name(demangled(kernel.name.c_str())),
                               std::int64_t{kernel.architecture},
                               std::int64_t{kernel.registers},
                               kernel.local_bytes,
                               kernel.stack_bytes,
                               kernel.shared_bytes,
                               limits ? Cell(occupancy.percent) : Cell(),
                               limits ? Cell(occupancy.limiter) : Cell(),
                               total > 0 ? Cell(total) : Cell()};
    for (const CodeKind kind : kCodeKinds) {
      const auto it = kernel.instructions.find(kind);
      const double count = it == kernel.instructions.end() ? 0 : double(it->second);
      cells.push_back(total > 0 ? Cell(100 * count / double(total)) : Cell());
    }
    sheet.row(std::move(cells));
  }
  return sheet;
}

}  // namespace headroom

#pragma once

// What the machine code of a kernel says before it runs, read from the text that NVIDIA's cuobjdump prints.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/sheet.h"

namespace headroom {

// Kinds of instructions, in the order of the table's columns.
enum class CodeKind { fp32, fp64, fp16, tensor, integer, global, shared, local, control, other };
std::string_view name_of(CodeKind kind);
CodeKind kind_of_instruction(std::string_view opcode);  // "LDG.E.64" is global

struct KernelCode {
  std::string name;      // mangled
  int architecture = 0;  // 90 for sm_90
  int registers = 0;
  std::int64_t stack_bytes = 0, shared_bytes = 0, local_bytes = 0;  // local memory holds spilled registers
  std::map<CodeKind, std::int64_t> instructions = {};               // by kind; empty: not read
  std::int64_t total() const;
};

// Of `cuobjdump -res-usage`: registers and memory of every kernel.
std::vector<KernelCode> parse_resource_usage(std::string_view text);
// Of `cuobjdump -sass`: fills in the instructions of the kernels that it lists.
void add_instructions(std::vector<KernelCode>& kernels, std::string_view text);

// A row for each kernel: registers, spills, occupancy for blocks of `threads`, shares of instructions.
Sheet machine_code_sheet(const std::vector<KernelCode>& kernels, int threads);

}  // namespace headroom

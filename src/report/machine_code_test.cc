#include "report/machine_code.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

constexpr const char* kUsage = R"(
Fatbin elf code:
================
arch = sm_90
code version = [1,8]
host = linux

Resource usage:
 Common:
  GLOBAL:0
 Function _ZN8headroom4axpyEfPf:
  REG:40 STACK:16 SHARED:4096 LOCAL:8 CONSTANT[0]:552 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function plain:
  REG:16 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:528 TEXTURE:0 SURFACE:0 SAMPLER:0
)";

constexpr const char* kSass = R"(
	code for sm_90
		Function : _ZN8headroom4axpyEfPf
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;              /* 0x00000a00ff017b82 */
                                                                       /* 0x000fe20000000800 */
        /*0010*/                   LDG.E.64 R2, desc[UR4][R2.64] ;     /* 0x0000000402027981 */
        /*0020*/              @!P0 FFMA R5, R2, R4, R3 ;               /* 0x0000000402057223 */
        /*0030*/                   STL [R1], R5 ;                      /* 0x0000000501007387 */
        /*0040*/              @P1  BRA 0x100 ;                         /* 0x0000000000001947 */
        /*0050*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8] ; /* 0x00000000081879f0 */
        /*0060*/                   IMAD.MOV.U32 R1, RZ, RZ, R5 ;       /* 0x000000ffff017224 */
        /*0070*/                   EXIT ;                              /* 0x000000000000794d */
        /*0080*/                   NOP;                                /* 0x0000000000007918 */
		Function : of_nobody
        /*0000*/                   EXIT ;                              /* 0x000000000000794d */
)";

std::vector<KernelCode> sample_kernels() {
  std::vector<KernelCode> list = parse_resource_usage(kUsage);
  add_instructions(list, kSass);
  return list;
}

TEST(MachineCode, RegistersAndMemoryAreReadByKernel) {
  const std::vector<KernelCode> list = sample_kernels();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "_ZN8headroom4axpyEfPf");
  EXPECT_EQ(list[0].architecture, 90);
  EXPECT_EQ(list[0].registers, 40);
  EXPECT_EQ(list[0].stack_bytes, 16);
  EXPECT_EQ(list[0].shared_bytes, 4096);
  EXPECT_EQ(list[0].local_bytes, 8);
  EXPECT_EQ(list[1].registers, 16);
}

TEST(MachineCode, InstructionsAreCountedByKind) {
  const std::vector<KernelCode> list = sample_kernels();
  EXPECT_EQ(list[0].total(), 8) << "without the padding, and without the code of others";
  const std::map<CodeKind, std::int64_t> expected = {
      {CodeKind::fp32, 1},  {CodeKind::tensor, 1},  {CodeKind::integer, 1}, {CodeKind::global, 1},
      {CodeKind::local, 1}, {CodeKind::control, 2}, {CodeKind::other, 1}};
  EXPECT_EQ(list[0].instructions, expected);
  EXPECT_EQ(list[1].total(), 0);
}

TEST(MachineCode, KindsFollowTheWholeOpcode) {
  EXPECT_EQ(kind_of_instruction("LDGSTS.E.BYPASS.128"), CodeKind::global);
  EXPECT_EQ(kind_of_instruction("LDGDEPBAR"), CodeKind::other);
  EXPECT_EQ(kind_of_instruction("LDSM.16.M88.4"), CodeKind::shared);
  EXPECT_EQ(kind_of_instruction("DFMA"), CodeKind::fp64);
  EXPECT_EQ(kind_of_instruction("HMUL2.BF16_V2"), CodeKind::fp16);
  EXPECT_EQ(kind_of_instruction("BAR.SYNC.DEFER_BLOCKING"), CodeKind::control);
  EXPECT_EQ(kind_of_instruction("S2R"), CodeKind::other);
}

TEST(MachineCode, TheTableShowsSpillsOccupancyAndShares) {
  const Sheet sheet = machine_code_sheet(sample_kernels(), 256);
  ASSERT_EQ(sheet.rows(), 2u);
  EXPECT_EQ(std::get<std::string>(sheet.at(0, "kernel")), "headroom::axpy");
  EXPECT_EQ(std::get<std::int64_t>(sheet.at(0, "spill_bytes")), 8);
  EXPECT_EQ(std::get<double>(sheet.at(0, "occupancy_percent")), 75);
  EXPECT_EQ(std::get<std::string>(sheet.at(0, "limit")), "registers");
  EXPECT_EQ(std::get<double>(sheet.at(0, "control_percent")), 25);
  EXPECT_EQ(std::get<double>(sheet.at(1, "occupancy_percent")), 100);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sheet.at(1, "control_percent")))
      << "its code was not read";
}

}  // namespace
}  // namespace headroom

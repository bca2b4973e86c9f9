#pragma once

// Where the copy engine puts the tiles of an operand in shared memory, and how the warp-group instructions
// are told. All of it is arithmetic, so tests on any machine can try it (ops/product/wgmma_test.cc).
//
// A tile is made of lines of 128 bytes. The copy engine and the instructions agree on a swizzle of 128 bytes:
// bits 4 to 6 of an address are combined with bits 7 to 9, so that the same 16 bytes of eight neighbouring
// lines lie in different banks. Tiles begin at multiples of 1024 bytes, where the pattern begins anew.
//
//   along k    a line is one row (of A, or column of B) at one step of k: 64 values of 16 bit, or 32 of tf32
//   across k   a line is 64 rows at one k. A block is such lines for all k of a step, and further rows are
//              further blocks. For 16 bit only.

#include <cstdint>

namespace headroom::cuda {

inline constexpr unsigned kLineBytes = 128;
inline constexpr unsigned kStepsOfK = 4;      // instructions of one step: each takes 32 bytes of k
inline constexpr unsigned kRowsOfBlock = 64;  // across k
inline constexpr unsigned kBlockBytes = 64 * kLineBytes;  // 64 rows along k, or a block across it

constexpr unsigned swizzled(unsigned address) { return address ^ ((address >> 7 & 7) << 4); }

// What an instruction is told of an operand (PTX: matrix descriptor). Addresses and offsets in bytes,
// multiples of 16; bits 0 to 13 the address, 16 to 29 the leading offset, 32 to 45 the stride, and 1 for the
// swizzle of 128 bytes in bits 62 and 63.
//   along k    stride: from 8 rows to the next 8; the leading offset is not used
//   across k   stride: from 8 of k to the next 8; leading: from a block of 64 rows to the next
constexpr std::uint64_t matrix_descriptor(unsigned address, bool across) {
  const std::uint64_t leading = across ? kBlockBytes : 16, stride = 8 * kLineBytes;
  return std::uint64_t{(address & 0x3FFFF) >> 4} | leading >> 4 << 16 | stride >> 4 << 32 |
         std::uint64_t{1} << 62;
}

// The descriptor of the instruction `step` of the four of a step of k: 32 bytes further in every line, or 16
// lines further.
constexpr std::uint64_t descriptor_at(std::uint64_t descriptor, bool across, unsigned step) {
  return descriptor + (across ? 16 * kLineBytes : 32) * step / 16;
}

// Sums pass through shared memory on their way out, 16 rows by 64 columns a warp at a time. Groups of eight
// columns change places, so that neither the fragments written nor the rows read meet in a bank.
constexpr int scratch_at(int row, int column) { return row * 64 + (column ^ (row & 3) << 3); }

}  // namespace headroom::cuda

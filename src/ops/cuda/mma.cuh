#pragma once

// Pieces of tensor-core kernels: copies that do not pass through registers, fragment loads, products of one
// warp. Everything here belongs to compute capability 8.0 and later; Hopper's own wgmma is not used.
//
// Fragments, with g = lane / 4 and t = lane % 4 (a row-major as m x k, b as k x n, c as m x n):
//   c, m16n8:    c[0] c[1] = C[g][2t] C[g][2t+1], c[2] c[3] = the same of row g + 8
//   m16n8k8 tf32:    a = A[g][t], A[g+8][t], A[g][t+4], A[g+8][t+4];  b = B[t][g], B[t+4][g]
//   m16n8k16 16-bit: a = A[g][2t..], A[g+8][2t..], A[g][2t+8..], A[g+8][2t+8..], two elements each;
//                    b = B[2t..][g], B[2t+8..][g], two elements each (of neighbouring k)
//   m8n8k4 fp64:     a = A[g][t];  b = B[t][g];  c = C[g][2t], C[g][2t+1]
//   m16n8 fp64, k4, k8 or k16:   a[2i] a[2i+1] = A[g][t+4i] A[g+8][t+4i];  b[i] = B[t+4i][g]

#include "ops/cuda/types.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "tensor-core kernels need compute capability 8.0: set CMAKE_CUDA_ARCHITECTURES to 80 or more"
#endif

namespace headroom::cuda {

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Copies kBytes (4, 8 or 16; both addresses aligned to it) to shared memory, of which only the first `valid`
// are read and the rest are zero. With valid = 0 the source is not touched.
template <int kBytes>
__device__ inline void copy_async(void* shared, const void* global, int valid) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16)  // past L1: a tile is read once
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid), "n"(kBytes)
                 : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most kLeft of the groups this thread committed are still under way.
template <int kLeft>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Four 8x8 matrices of 16-bit elements; lanes 8i..8i+7 give the addresses (16-byte aligned) of the rows of
// matrix i, and r[i] is its fragment: element pair [lane / 4][2 (lane % 4)], or of the transposed matrix.
__device__ inline void load_matrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// fp32 as tf32 holds it: 11 significant bits, rounded to nearest (ties away); the low 13 bits are 0.
__device__ inline unsigned to_tf32(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// The same in two instructions, where the conversion takes four, but a NaN may become 0.
__device__ inline unsigned round_tf32(float x) { return (__float_as_uint(x) + 0x1000U) & 0xFFFFE000U; }

// x = hi + lo up to 2^-22 |x|. lo x lo, of 2^-22 of a product, may be left out of sums in fp32. lo is left as
// it is: the unit cuts it to 11 bits itself, and since its sign is as good as random, the cuts do not add up.
// lo of a NaN is one.
struct SplitTf32 {
  unsigned hi, lo;
};
__device__ inline SplitTf32 split_tf32(float x) {
  const unsigned hi = round_tf32(x);
  return {hi, __float_as_uint(x - __uint_as_float(hi))};
}

// x = hi + mid + lo to the last bit, three times 8 significant bits: hi cut off, so that it never overflows,
// mid rounded, so that lo has either sign and what products leave out averages out. A part is the upper half
// of the fp32 number it stands for. lo of the smallest numbers, below 2^-110, falls below the smallest bf16.
struct SplitBf16 {
  unsigned hi, mid, lo;  // as fp32; the lower halves of hi and mid are 0, that of lo is to be cut off
};
__device__ inline SplitBf16 split_bf16(float x) {
  constexpr unsigned kUpper = 0xFFFF0000U;
  const unsigned hi = __float_as_uint(x) & kUpper;
  const float rest = x - __uint_as_float(hi);
  const unsigned mid = (__float_as_uint(rest) + 0x8000U) & kUpper;
  return {hi, mid, __float_as_uint(rest - __uint_as_float(mid))};
}
// The upper halves of two words, the first in the lower one: two neighbours of a 16-bit fragment.
__device__ inline unsigned upper_halves(unsigned first, unsigned second) {
  return __byte_perm(first, second, 0x7632);
}

// c += a b. The sum is fp32, but the hardware cuts its low bits off instead of rounding: some 1.2 units of
// the last place of c are lost per call, always towards 0. Sums that must be as good as fp32 start from a
// fresh c every 16 of k and are added up by ordinary additions.
__device__ inline void mma_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <class T>
__device__ inline void mma_16bit(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]);
template <>
__device__ inline void mma_16bit<Half>(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <>
__device__ inline void mma_16bit<Brain>(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// fp64 throughout, rounded as ordinary fused multiply-adds.
__device__ inline void mma_fp64(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}

// The same for 16 rows and kShape of k, 4, 8 or 16: one instruction from compute capability 9.0 on, several
// of the above before.
template <int kShape>
__device__ inline void mma_fp64_wide(double (&c)[4], const double (&a)[kShape / 2],
                                     const double (&b)[kShape / 4]) {
  static_assert(kShape == 4 || kShape == 8 || kShape == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (kShape == 4)
    asm volatile(
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
        "%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
  else if constexpr (kShape == 8)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
        "%11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
          "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
  for (int i = 0; i < kShape / 4; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      mma_fp64(*reinterpret_cast<double(*)[2]>(&c[2 * half]), a[2 * i + half], b[i]);
#endif
}

}  // namespace headroom::cuda

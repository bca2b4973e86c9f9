#pragma once

// Hopper's asynchronous machinery, as thin functions: barriers in shared memory, the bulk copy engine, and
// products by warpgroups of 128 threads. For files compiled for sm_90a alone (see cmake/cuda.cmake).
//
// A barrier has phases that end when all arrivals and all announced bytes have come. Waiting for phase 1 of a
// fresh barrier passes at once.
//
// Sums of a warpgroup, 64 rows by kN columns, with w = warp of the four, g = lane / 4 and t = lane % 4:
//   d[4 j], d[4 j + 1] = D[16 w + g][8 j + 2 t], [… + 1];   d[4 j + 2], d[4 j + 3] = the same of row + 8

#include <cuda.h>

#include "ops/cuda/mma.cuh"
#include "ops/cuda/wgmma_layout.h"

namespace headroom::cuda {

using Barrier = unsigned long long;

__device__ inline void init_barrier(Barrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}
// After the last init_barrier, by the same thread: the copy engine must see them. Then __syncthreads.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// Arrives, and announces bytes that the copy engine will bring.
__device__ inline void arrive_and_expect(Barrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ inline void wait_for(Barrier* barrier, unsigned phase) {
  unsigned done;
  do {
    asm volatile(
        "{\n\t.reg .pred passed;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 passed, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, passed;\n\t}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(phase)
        : "memory");
  } while (done == 0);
}

// The box of a tensor map whose first element is at x, y, z, to shared memory; outside of the tensor are
// zeros. Its bytes count towards the barrier.
__device__ inline void copy_tensor_box(void* to, const CUtensorMap& map, Barrier* barrier, int x, int y,
                                       int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// Brings a map near to the copy engine, before the first copy needs it.
__device__ inline void fetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Before the first product, and between other uses of the sums' registers and a product.
__device__ inline void fence_sums() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Products since the last commit become a group, which can be waited for.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most kLeft groups are still under way.
template <int kLeft>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// The compiler does not know that sums change until they are waited for: nothing that reads them may move
// before this.
template <int kCount>
__device__ inline void settle(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Lets this warpgroup have kRegisters a thread: the ones that copy give up what the ones that multiply take.
template <int kRegisters>
__device__ inline void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// d = A B + (add ? d : 0) for 64 rows, kN columns and 32 bytes of k; T is Half, Brain, or float for tf32,
// which takes no operand across k.
template <class T, int kN, bool kAcrossA, bool kAcrossB>
__device__ inline void multiply(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, bool add);

#define HEADROOM_TEN(t) \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
// clang-format off
#define HEADROOM_SUMS_64                                                                    \
  HEADROOM_TEN() HEADROOM_TEN(1) HEADROOM_TEN(2) HEADROOM_TEN(3) HEADROOM_TEN(4) HEADROOM_TEN(5) \
  "%60, %61, %62, %63"
#define HEADROOM_SUMS_128                                                                   \
  HEADROOM_TEN() HEADROOM_TEN(1) HEADROOM_TEN(2) HEADROOM_TEN(3) HEADROOM_TEN(4) HEADROOM_TEN(5) \
  HEADROOM_TEN(6) HEADROOM_TEN(7) HEADROOM_TEN(8) HEADROOM_TEN(9) HEADROOM_TEN(10) HEADROOM_TEN(11) \
  "%120, %121, %122, %123, %124, %125, %126, %127"
// clang-format on
#define HEADROOM_D4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define HEADROOM_D16(i) HEADROOM_D4(i), HEADROOM_D4((i) + 4), HEADROOM_D4((i) + 8), HEADROOM_D4((i) + 12)
#define HEADROOM_D64(i) \
  HEADROOM_D16(i), HEADROOM_D16((i) + 16), HEADROOM_D16((i) + 32), HEADROOM_D16((i) + 48)

// `ends`: the operands after the sums, and after the two signs of the factors.
#define HEADROOM_WGMMA_128(instruction, ends, ...)                                                    \
  asm volatile(                                                                                       \
      "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %66, 0;\n\twgmma.mma_async.sync.aligned." instruction \
      " {" HEADROOM_SUMS_64 "}, %64, %65, add, 1, 1" ends ";\n\t}"                                    \
      : HEADROOM_D64(0)                                                                               \
      : "l"(a), "l"(b), "r"(static_cast<int>(add))__VA_ARGS__)
#define HEADROOM_WGMMA_256(instruction, ends, ...)                                                     \
  asm volatile(                                                                                        \
      "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %130, 0;\n\twgmma.mma_async.sync.aligned." instruction \
      " {" HEADROOM_SUMS_128 "}, %128, %129, add, 1, 1" ends ";\n\t}"                                  \
      : HEADROOM_D64(0), HEADROOM_D64(64)                                                              \
      : "l"(a), "l"(b), "r"(static_cast<int>(add))__VA_ARGS__)
#define HEADROOM_MAJORS , "n"(static_cast<int>(kAcrossA)), "n"(static_cast<int>(kAcrossB))

template <class T, int kN, bool kAcrossA, bool kAcrossB>
__device__ inline void multiply(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, bool add) {
  static_assert(kN == 128 || kN == 256);
  if constexpr (sizeof(T) == 4) {
    static_assert(!kAcrossA && !kAcrossB);
    if constexpr (kN == 128)
      HEADROOM_WGMMA_128("m64n128k8.f32.tf32.tf32", "");
    else
      HEADROOM_WGMMA_256("m64n256k8.f32.tf32.tf32", "");
  } else if constexpr (std::is_same_v<T, Half>) {
    if constexpr (kN == 128)
      HEADROOM_WGMMA_128("m64n128k16.f32.f16.f16", ", %67, %68", HEADROOM_MAJORS);
    else
      HEADROOM_WGMMA_256("m64n256k16.f32.f16.f16", ", %131, %132", HEADROOM_MAJORS);
  } else {
    if constexpr (kN == 128)
      HEADROOM_WGMMA_128("m64n128k16.f32.bf16.bf16", ", %67, %68", HEADROOM_MAJORS);
    else
      HEADROOM_WGMMA_256("m64n256k16.f32.bf16.bf16", ", %131, %132", HEADROOM_MAJORS);
  }
}

#undef HEADROOM_MAJORS
#undef HEADROOM_WGMMA_256
#undef HEADROOM_WGMMA_128
#undef HEADROOM_D64
#undef HEADROOM_D16
#undef HEADROOM_D4
#undef HEADROOM_SUMS_128
#undef HEADROOM_SUMS_64
#undef HEADROOM_TEN

}  // namespace headroom::cuda

#pragma once

// Products by warpgroups whose rows of A stand in registers: d += A B for 64 rows, kN columns and 16 of k of
// fp16. `a` holds, of the rows 16 w + g and 16 w + g + 8 of warp w, the k 2 t, 2 t + 1 (a[0], a[1]) and
// 2 t + 8, 2 t + 9 (a[2], a[3]); it must not change until the product is waited for.

#include "ops/cuda/wgmma.cuh"

namespace headroom::cuda {

// clang-format off
#define HEADROOM_TEN(t) \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define HEADROOM_SUMS_32 HEADROOM_TEN() HEADROOM_TEN(1) HEADROOM_TEN(2) "%30, %31"
#define HEADROOM_SUMS_64 HEADROOM_TEN() HEADROOM_TEN(1) HEADROOM_TEN(2) HEADROOM_TEN(3) HEADROOM_TEN(4) \
  HEADROOM_TEN(5) "%60, %61, %62, %63"
#define HEADROOM_SUMS_80 HEADROOM_TEN() HEADROOM_TEN(1) HEADROOM_TEN(2) HEADROOM_TEN(3) HEADROOM_TEN(4) \
  HEADROOM_TEN(5) HEADROOM_TEN(6) "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
// clang-format on
#define HEADROOM_D4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define HEADROOM_D16(i) HEADROOM_D4(i), HEADROOM_D4((i) + 4), HEADROOM_D4((i) + 8), HEADROOM_D4((i) + 12)
#define HEADROOM_FACTORS                                                          \
  "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)), \
      "n"(static_cast<int>(kAcross))

// The numbers of the operands after the sums: four of A, B, and whether to add.
#define HEADROOM_WGMMA_ROWS(n, sums, a0, a1, a2, a3, b0, add0, across0, ...)                                 \
  asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %" #add0                                            \
               ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" sums "}, {%" #a0 ", %" #a1 \
               ", %" #a2 ", %" #a3 "}, %" #b0 ", add, 1, 1, %" #across0 ";\n\t}"                             \
               : __VA_ARGS__                                                                                 \
               : HEADROOM_FACTORS)

template <int kN, bool kAcross>
__device__ inline void multiply_by_rows(float (&d)[kN / 2], const unsigned (&a)[4], std::uint64_t b,
                                        bool add) {
  static_assert(kN == 64 || kN == 128 || kN == 160);
  if constexpr (kN == 64)
    HEADROOM_WGMMA_ROWS(64, HEADROOM_SUMS_32, 32, 33, 34, 35, 36, 37, 38, HEADROOM_D16(0), HEADROOM_D16(16));
  else if constexpr (kN == 128)
    HEADROOM_WGMMA_ROWS(128, HEADROOM_SUMS_64, 64, 65, 66, 67, 68, 69, 70, HEADROOM_D16(0), HEADROOM_D16(16),
                        HEADROOM_D16(32), HEADROOM_D16(48));
  else
    HEADROOM_WGMMA_ROWS(160, HEADROOM_SUMS_80, 80, 81, 82, 83, 84, 85, 86, HEADROOM_D16(0), HEADROOM_D16(16),
                        HEADROOM_D16(32), HEADROOM_D16(48), HEADROOM_D16(64));
}

#undef HEADROOM_WGMMA_ROWS
#undef HEADROOM_FACTORS
#undef HEADROOM_D16
#undef HEADROOM_D4
#undef HEADROOM_SUMS_80
#undef HEADROOM_SUMS_64
#undef HEADROOM_SUMS_32
#undef HEADROOM_TEN

}  // namespace headroom::cuda

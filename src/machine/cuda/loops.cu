#include "machine/cuda/loops.h"
#include "ops/cuda/mma.cuh"

namespace headroom::cuda {
namespace {

constexpr int kTeam = 256;
constexpr int kChains = 8;     // independent sums per thread or warp, more than any unit's latency needs
constexpr int kUnrolled = 32;  // multiply-adds of each chain in one round

// x = a x + b in each chain: two operands stay the same, so that the register file does not limit it.
template <class T>
__global__ void __launch_bounds__(kTeam) multiply_add(int rounds, T a, T b, T* sink) {
  T x[kChains];
  for (int c = 0; c < kChains; ++c) x[c] = T(threadIdx.x + c);
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u)
#pragma unroll
      for (int c = 0; c < kChains; ++c) x[c] = a * x[c] + b;
  T sum = 0;
  for (int c = 0; c < kChains; ++c) sum += x[c];
  if (sum == T(-1)) *sink = sum;  // never true: all are positive, but the compiler cannot know
}

template <Unit kUnit>
__device__ void product(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (kUnit == Unit::tf32) mma_tf32(c, a, b);
  if constexpr (kUnit == Unit::fp16) mma_16bit<Half>(c, a, b);
  if constexpr (kUnit == Unit::bf16) mma_16bit<Brain>(c, a, b);
}

template <Unit kUnit>
__global__ void __launch_bounds__(kTeam) tensor_products(int rounds, unsigned value, float* sink) {
  unsigned a[4], b[2];
  for (unsigned& x : a) x = value;
  for (unsigned& x : b) x = value;
  float c[kChains][4] = {};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u)
#pragma unroll
      for (int i = 0; i < kChains; ++i) product<kUnit>(c[i], a, b);
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  if (sum == -1) *sink = sum;
}

// Hopper has a larger fp64 product; only this one reaches its peak.
__global__ void __launch_bounds__(kTeam) tensor_products_fp64(int rounds, double value, double* sink) {
  double sum = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  double c[kChains][4] = {};
  const double a = value;
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u)
#pragma unroll
      for (int i = 0; i < kChains; ++i)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
            "{%4, %4, %4, %4, %4, %4, %4, %4}, {%4, %4, %4, %4}, {%0, %1, %2, %3};"
            : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
            : "d"(a));
  for (int i = 0; i < kChains; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
#else
  double c[kChains][2] = {};
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u)
#pragma unroll
      for (int i = 0; i < kChains; ++i) mma_fp64(c[i], value, value);
  for (int i = 0; i < kChains; ++i) sum += c[i][0] + c[i][1];
#endif
  if (sum == -1) *sink = sum;
}

double fp64_product_flops() {
  cudaFuncAttributes attributes{};
  HEADROOM_CUDA_CHECK(cudaFuncGetAttributes(&attributes, tensor_products_fp64));
  return attributes.ptxVersion >= 90 ? 2.0 * 16 * 8 * 16 : 2.0 * 8 * 8 * 4;
}

// Volatile accesses, so that the compiler cannot remove a pass.
__device__ uint4 load(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ void store(uint4* to, uint4 v) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

constexpr int kInFlight = 4;  // 16-byte accesses per thread: 2048 threads have 128 kB in flight

template <Traffic kKind>
__global__ void __launch_bounds__(kTeam)
    traffic(uint4* to, const uint4* from, std::int64_t count, int passes) {
  const std::int64_t all = std::int64_t{gridDim.x} * kTeam;
  unsigned seen = 0;
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t i = std::int64_t{blockIdx.x} * kTeam + threadIdx.x; i < count; i += kInFlight * all) {
      uint4 v[kInFlight] = {};
#pragma unroll
      for (int j = 0; j < kInFlight; ++j)
        if (kKind != Traffic::write && i + j * all < count) v[j] = load(from + i + j * all);
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        if (kKind == Traffic::read)
          seen |= v[j].x | v[j].y | v[j].z | v[j].w;
        else if (i + j * all < count)
          store(to + i + j * all, v[j]);
      }
    }
  if (kKind == Traffic::read && seen == 0x9e3779b9u) store(to, uint4{seen, seen, seen, seen});  // never true
}

__global__ void empty() {}

template <class T>
__global__ void random_values(T* data, std::int64_t count, unsigned seed) {
  const std::int64_t all = std::int64_t{gridDim.x} * kTeam;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kTeam + threadIdx.x; i < count; i += all) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;  // a hash: any disorder will do
    x = (x ^ (x >> 15)) * 2246822519u;
    x = (x ^ (x >> 13)) * 3266489917u;
    x ^= x >> 16;
    data[i] = narrow<T>(static_cast<Compute<T>>(static_cast<float>(x) * 4.656612873e-10f - 1.0f));
  }
}

}  // namespace

double launch_rate_loop(Unit unit, int multiprocessors, int rounds, void* sink, cudaStream_t stream) {
  // 64 warps on each multiprocessor for the vector units; 16 fill the tensor units.
  const int vector_blocks = 8 * multiprocessors, tensor_blocks = 2 * multiprocessors;
  const double vector = 2.0 * kChains * kUnrolled * rounds * vector_blocks * kTeam;
  const double products = 1.0 * kChains * kUnrolled * rounds * tensor_blocks * (kTeam / 32);
  double flops = 0;
  switch (unit) {
    case Unit::fp64:
      multiply_add<double><<<vector_blocks, kTeam, 0, stream>>>(rounds, 0.5, 1.0, static_cast<double*>(sink));
      flops = vector;
      break;
    case Unit::fp32:
      multiply_add<float><<<vector_blocks, kTeam, 0, stream>>>(rounds, 0.5f, 1.0f, static_cast<float*>(sink));
      flops = vector;
      break;
    case Unit::fp64_tensor:
      tensor_products_fp64<<<tensor_blocks, kTeam, 0, stream>>>(rounds, 0.03, static_cast<double*>(sink));
      flops = products * fp64_product_flops();
      break;
    case Unit::tf32:  // 0.03
      tensor_products<Unit::tf32>
          <<<tensor_blocks, kTeam, 0, stream>>>(rounds, 0x3cf5c000u, static_cast<float*>(sink));
      flops = products * 2 * 16 * 8 * 8;
      break;
    case Unit::fp16:
      tensor_products<Unit::fp16>
          <<<tensor_blocks, kTeam, 0, stream>>>(rounds, 0x27ae27aeu, static_cast<float*>(sink));
      flops = products * 2 * 16 * 8 * 16;
      break;
    case Unit::bf16:
      tensor_products<Unit::bf16>
          <<<tensor_blocks, kTeam, 0, stream>>>(rounds, 0x3cf53cf5u, static_cast<float*>(sink));
      flops = products * 2 * 16 * 8 * 16;
      break;
  }
  HEADROOM_CUDA_LAUNCHED();
  return flops;
}

void launch_traffic(Traffic kind, void* to, const void* from, std::int64_t bytes, int passes,
                    int multiprocessors, cudaStream_t stream) {
  const int blocks = 8 * multiprocessors;
  auto* target = static_cast<uint4*>(to);
  const auto* source = static_cast<const uint4*>(from);
  const std::int64_t count = bytes / 16;
  if (kind == Traffic::read)
    traffic<Traffic::read><<<blocks, kTeam, 0, stream>>>(target, source, count, passes);
  else if (kind == Traffic::write)
    traffic<Traffic::write><<<blocks, kTeam, 0, stream>>>(target, source, count, passes);
  else
    traffic<Traffic::copy><<<blocks, kTeam, 0, stream>>>(target, source, count, passes);
  HEADROOM_CUDA_LAUNCHED();
}

void launch_empty(cudaStream_t stream) {
  empty<<<1, 1, 0, stream>>>();
  HEADROOM_CUDA_LAUNCHED();
}

void fill_random(Unit unit, void* data, std::int64_t elements, unsigned seed, cudaStream_t stream) {
  constexpr int kBlocks = 1024;
  if (unit == Unit::fp64 || unit == Unit::fp64_tensor)
    random_values<<<kBlocks, kTeam, 0, stream>>>(static_cast<double*>(data), elements, seed);
  else if (unit == Unit::fp16)
    random_values<<<kBlocks, kTeam, 0, stream>>>(static_cast<Half*>(data), elements, seed);
  else if (unit == Unit::bf16)
    random_values<<<kBlocks, kTeam, 0, stream>>>(static_cast<Brain*>(data), elements, seed);
  else
    random_values<<<kBlocks, kTeam, 0, stream>>>(static_cast<float*>(data), elements, seed);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda

// Products of bytes on tensor cores: a block of eight warps has a tile of 128 x 128 results and walks along
// k, 64 terms at a time, while the next ones are on their way from memory. Both factors lie in shared memory
// as signed bytes with terms next to each other: columns of b are turned around on the way, four by four
// bytes.
#include "ops/cuda/index.cuh"
#include "ops/cuda/mma.cuh"
#include "ops/integer_product/cuda.h"

namespace headroom::cuda {
namespace {

constexpr int kSide = 128, kDeep = 64, kWordsOfLine = kDeep / 4;
constexpr int kWordsOfThread = kSide * kWordsOfLine / kThreads;
static_assert(kThreads == 256 && kWordsOfThread == 8);

struct Factors {
  std::int64_t m, n, k;
  Bytes a, b;
  unsigned flip_a, flip_b;  // makes signed bytes of unsigned ones
};

// Where a word of a line stands: its chunks of 16 bytes change places by a number of the line, so that
// neither stores nor loads of fragments meet in a bank. `place ^ 4 * c` is in the same line, c chunks further
// where the two numbers have no bit in common.
__device__ inline int place_in(int line, int word, int turned) {
  return line * kWordsOfLine + ((word / 4) ^ (turned & 3)) * 4 + word % 4;
}
__device__ inline int place_in_a(int row, int word) { return place_in(row, word, row / 2); }
__device__ inline int place_in_b(int column, int word) {
  return place_in(column, word, column / 2 ^ column / 8);
}

// Up to four bytes as they are; behind `count` those that `flip` makes zeros. Nothing is done with what was
// loaded, so that many loads can be on their way; if words are aligned, `count` is 0 or 4.
template <bool kAligned>
__device__ inline unsigned word_of(const std::uint8_t* from, int count, unsigned flip) {
  if (kAligned) return count > 0 ? *reinterpret_cast<const unsigned*>(from) : flip;
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= (i < count ? unsigned{from[i]} : flip & 0xFFU) << (8 * i);
  return word;
}

__device__ inline int at_most_four(std::int64_t left) {
  return left >= 4 ? 4 : left > 0 ? static_cast<int>(left) : 0;
}

// A thread's words of the next tiles. Of a: one word of each 16th row. Of b: two blocks of 4 x 4 bytes in the
// same columns, 32 terms apart.
struct Ahead {
  unsigned a[kWordsOfThread], b[kWordsOfThread];
};
__device__ inline int column_of_thread() { return threadIdx.x % 8 * 4 + threadIdx.x / 64 * 32; }
__device__ inline int word_of_thread() { return threadIdx.x / 8 % 8; }

template <bool kAligned>
__device__ inline void load(const Factors& f, std::int64_t row, std::int64_t column, std::int64_t k,
                            Ahead& to) {
  const std::int64_t line = row + threadIdx.x / kWordsOfLine, at = k + threadIdx.x % kWordsOfLine * 4;
  const auto* a = static_cast<const std::uint8_t*>(f.a.data) + line * f.k + at;
  const int terms = at_most_four(f.k - at);
#pragma unroll
  for (int i = 0; i < kWordsOfThread; ++i, a += 16 * f.k)
    to.a[i] = word_of<kAligned>(a, line + 16 * i < f.m ? terms : 0, f.flip_a);
  const std::int64_t j = column + column_of_thread(), term = k + 4 * word_of_thread();
  const auto* b = static_cast<const std::uint8_t*>(f.b.data) + term * f.n + j;
  const int columns = at_most_four(f.n - j);
#pragma unroll
  for (int half = 0; half < 2; ++half, b += 28 * f.n)
#pragma unroll
    for (int i = 0; i < 4; ++i, b += f.n)
      to.b[4 * half + i] = word_of<kAligned>(b, term + 32 * half + i < f.k ? columns : 0, f.flip_b);
}

// Words of four columns, a term each, to words of four terms, a column each.
__device__ inline void turn(const unsigned* terms, unsigned (&columns)[4]) {
  const unsigned low01 = __byte_perm(terms[0], terms[1], 0x5140),
                 high01 = __byte_perm(terms[0], terms[1], 0x7362),
                 low23 = __byte_perm(terms[2], terms[3], 0x5140),
                 high23 = __byte_perm(terms[2], terms[3], 0x7362);
  columns[0] = __byte_perm(low01, low23, 0x5410), columns[1] = __byte_perm(low01, low23, 0x7632);
  columns[2] = __byte_perm(high01, high23, 0x5410), columns[3] = __byte_perm(high01, high23, 0x7632);
}

__device__ inline void store(const Factors& f, const Ahead& ahead, unsigned* a, unsigned* b) {
  const int to_a = place_in_a(threadIdx.x / kWordsOfLine, threadIdx.x % kWordsOfLine),
            to_b = place_in_b(column_of_thread(), word_of_thread());
#pragma unroll
  for (int i = 0; i < kWordsOfThread; ++i) a[to_a + 16 * i * kWordsOfLine] = ahead.a[i] ^ f.flip_a;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    unsigned columns[4];
    turn(ahead.b + 4 * half, columns);
#pragma unroll
    for (int j = 0; j < 4; ++j) b[(to_b ^ 4 * (2 * half ^ j / 2)) + j * kWordsOfLine] = columns[j] ^ f.flip_b;
  }
}

// c += a b of 16 x 8 results and 32 terms of signed bytes, modulo 2^32.
__device__ inline void multiply_bytes(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A warp has 32 x 64 results: four warps down, two across.
struct WarpTile {
  int sums[2][8][4] = {};
};
__device__ inline int first_row() { return threadIdx.x / 32 % 4 * 32; }
__device__ inline int first_column() { return threadIdx.x / 128 * 64; }

// Fragments of a: rows 0 to 7 and 8 to 15 of the first 16 terms, then of the next 16. Of b: both halves of 32
// terms for 8 columns, then for the next 8.
__device__ inline void multiply(const unsigned* a, const unsigned* b, WarpTile& tile) {
  const int lane = threadIdx.x % 32;
  const int from_a = place_in_a(first_row() + lane % 16, lane / 16 * 4),
            from_b = place_in_b(first_column() + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 4);
#pragma unroll
  for (int chunk = 0; chunk < 4; chunk += 2) {
    unsigned left[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) load_matrices(left[i], a + (from_a ^ 4 * chunk) + 16 * i * kWordsOfLine);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      unsigned right[4];
      load_matrices(right, b + (from_b ^ 4 * (chunk ^ (j & 2))) + 8 * j * kWordsOfLine);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_bytes(tile.sums[i][j], left[i], right[0], right[1]);
        multiply_bytes(tile.sums[i][j + 1], left[i], right[2], right[3]);
      }
    }
  }
}

__device__ inline unsigned signed_zero(const Bytes& f, std::int64_t line) {
  const auto zero = static_cast<const std::uint8_t*>(f.zeros)[f.zero_each ? line : 0];
  return static_cast<unsigned>(f.is_signed ? int{static_cast<std::int8_t>(zero)} : zero - 128);
}
__device__ inline bool has_zeros(const Bytes& f) { return f.zero_each || signed_zero(f, 0) != 0; }

// Zero points need the sums of a's rows and b's columns: a thread adds up one of these 2 x 128 lines.
__device__ inline int sum_of_line(const unsigned* a, const unsigned* b) {
  constexpr int kOnes = 0x01010101;
  const unsigned* line = (threadIdx.x < kSide ? a : b) + threadIdx.x % kSide * kWordsOfLine;
  int sum = 0;
#pragma unroll
  for (int chunk = 0; chunk < 4; ++chunk) {  // lanes begin in different banks
    const auto four = *reinterpret_cast<const uint4*>(line + 4 * ((chunk + threadIdx.x / 2) % 4));
    sum = __dp4a(static_cast<int>(four.x), kOnes, sum);
    sum = __dp4a(static_cast<int>(four.y), kOnes, sum);
    sum = __dp4a(static_cast<int>(four.z), kOnes, sum);
    sum = __dp4a(static_cast<int>(four.w), kOnes, sum);
  }
  return sum;
}

// sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb, modulo 2^32.
__device__ inline void write(const Factors& f, std::int64_t row, std::int64_t column, const WarpTile& tile,
                             const int* lines, std::int32_t* c) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = first_row() + 8 * i + lane / 4;
    if (row + at >= f.m) continue;
    const unsigned za = signed_zero(f.a, row + at), sum_a = static_cast<unsigned>(lines[at]);
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const int to = first_column() + j / 2 * 8 + 2 * (lane % 4) + j % 2;
      if (column + to >= f.n) continue;
      const unsigned zb = signed_zero(f.b, column + to), sum_b = static_cast<unsigned>(lines[kSide + to]);
      const auto sum = static_cast<unsigned>(tile.sums[i / 2][j / 2][i % 2 * 2 + j % 2]);
      c[(row + at) * f.n + column + to] =
          static_cast<std::int32_t>(sum - zb * sum_a - za * sum_b + static_cast<unsigned>(f.k) * za * zb);
    }
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads, 2) tiles(const __grid_constant__ Factors f, std::int32_t* c) {
  __shared__ __align__(16) unsigned a[2][kSide * kWordsOfLine], b[2][kSide * kWordsOfLine];
  __shared__ int lines[2 * kSide];
  const Cut block = cut(blockIdx.x, (f.n + kSide - 1) / kSide);
  const std::int64_t row = block.whole * kSide, column = block.rest * kSide;
  const bool sums_line = has_zeros(threadIdx.x < kSide ? f.b : f.a);
  int line = 0;
  Ahead ahead;
  WarpTile tile;
  load<kAligned>(f, row, column, 0, ahead);
  store(f, ahead, a[0], b[0]);
  __syncthreads();
  for (std::int64_t k = 0, n = 0; k < f.k; k += kDeep, ++n) {
    const bool more = k + kDeep < f.k;
    if (more) load<kAligned>(f, row, column, k + kDeep, ahead);
    if (sums_line) line += sum_of_line(a[n % 2], b[n % 2]);
    multiply(a[n % 2], b[n % 2], tile);
    if (more) store(f, ahead, a[(n + 1) % 2], b[(n + 1) % 2]);
    __syncthreads();
  }
  lines[threadIdx.x] = line;
  __syncthreads();
  write(f, row, column, tile, lines, c);
}

}  // namespace

void integer_product_tiles(std::int64_t m, std::int64_t n, std::int64_t k, const Bytes& a, const Bytes& b,
                           std::int32_t* c, cudaStream_t stream) {
  constexpr unsigned kFlip = 0x80808080U;
  const Factors f{m, n, k, a, b, a.is_signed ? 0 : kFlip, b.is_signed ? 0 : kFlip};
  const auto blocks = static_cast<unsigned>((m + kSide - 1) / kSide * ((n + kSide - 1) / kSide));
  if (k % 4 == 0 && n % 4 == 0 && aligned_to(a.data, 4) && aligned_to(b.data, 4))
    tiles<true><<<blocks, kThreads, 0, stream>>>(f, c);
  else
    tiles<false><<<blocks, kThreads, 0, stream>>>(f, c);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda

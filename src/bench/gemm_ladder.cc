#include "bench/gemm_ladder.h"

#include <algorithm>

#include "base/units.h"
#include "bench/gemm_check.h"
#include "bench/published_gemm.h"

namespace headroom {
namespace {

std::vector<Rung> cpu_rungs() {
  return {
      rung_of("cpu:loops", "three loops", "", "Three loops, i, j and k, on one thread.",
              "Each sum waits for the one before it, and walking down a column of B touches a new cache "
              "line for every term."),
      rung_of(
          "cpu:loops_threaded", "three loops, all threads", "cpu:loops",
          "Every thread takes a share of the rows.",
          "Rows do not depend on each other; each thread waits for its own chain and its own cache lines."),
      rung_of("cpu:row_vectors", "loops turned around, vectors", "cpu:loops",
              "The loop over k comes before the one over columns, so that a row of C grows by rows of B.",
              "Neighbours lie side by side for vectors and for the cache, and no sum waits for another; but "
              "each product loads and stores its sum."),
      rung_of("cpu:blocked", "blocks that fit the cache", "cpu:loops",
              "The same loops run over blocks of 64 x 64 that are copied side by side first.",
              "A block serves 64 times once it is in the first-level cache, so the misses go; the chain of "
              "dependent sums stays."),
      rung_of("cpu:vector", "vectors and register tiles", "cpu:blocked",
              "A tile of sums stays in vector registers, and panels of both factors are packed for it.",
              "Vectors do several products per instruction, the many sums of a tile are independent of each "
              "other, and each loaded element serves a whole row or column of the tile."),
      rung_of(
          "cpu:threaded", "all threads", "cpu:vector", "Every thread takes a share of the rows.",
          "Threads share the packed panel of B and nothing else, so the time should fall with the number of "
          "cores."),
      rung_of("cpu:blas", "OpenBLAS", "cpu:threaded", "The library's hand-written assembly does the same.",
              "It differs in instruction scheduling, prefetching and block sizes chosen for this core."),
      rung_of(
          "cpu:packed", "blocks for every cache, work for every thread", "cpu:threaded",
          "The whole team packs blocks of both factors; threads share rows and columns, and a small product "
          "stays on one thread or is read in place.",
          "Nothing is packed twice, panels come from the nearest cache, and the widest instructions of the "
          "processor are found when the program runs. The networks use this one."),
      rung_of("cpu:bf16", "matrix instructions of bf16", "cpu:packed",
              "Factors are rounded to bf16 when they are packed, and the matrix unit of the processor "
              "multiplies tiles of them; sums stay in fp32.",
              "One instruction of AMX does 8192 products, one of Arm 16. It needs `precision` bf16."),
      rung_of(
          "cpu:bf16x6", "fp32 in three parts of bf16", "cpu:packed",
          "Every factor is the sum of three bf16, exactly, and the matrix unit does the six products of "
          "parts "
          "that count.",
          "Six products by AMX take less time than one by vectors, and what is left out is smaller than the "
          "rounding of fp32. Where others share the core, the unit loses more than vectors do, so it runs "
          "by name."),
  };
}

std::vector<Rung> gpu_rungs() {
  return {
      rung_of(
          "cuda:threads_along_columns", "a thread per output, column by column", "",
          "One thread computes one output, and the threads of a warp take neighbours of a column.",
          "C and B lie row by row, so every access of a warp to A and C falls into 32 different sectors of "
          "memory."),
      rung_of("cuda:threads_along_rows", "a thread per output, row by row", "cuda:threads_along_columns",
              "The threads of a warp take neighbours of a row instead.",
              "They now read neighbours of B in one transaction and share one element of A."),
      rung_of("cuda:outputs_4x4", "4 x 4 outputs a thread, no tiles", "cuda:threads_along_columns",
              "A thread computes 16 outputs of its own, still column by column.",
              "Eight loads serve 16 products instead of two one, and the sums do not wait for each other; "
              "loads stay as scattered as they were."),
      rung_of(
          "cuda:shared_1d", "32 x 32 tiles in shared memory", "cuda:threads_along_rows",
          "A block brings tiles of A and B to shared memory, in one-dimensional arrays.",
          "Each element that is loaded serves 32 threads; now shared memory, two loads per multiply-add, is "
          "the limit."),
      rung_of("cuda:shared_2d", "the same in 2-D arrays", "cuda:shared_1d",
              "The tiles are declared as two-dimensional arrays.",
              "The compiler makes the same addresses of both, so nothing should change."),
      rung_of(
          "cuda:block_64x16", "16 x 4 threads on 64 x 16 outputs", "cuda:shared_2d",
          "A thread computes 16 outputs, with 4 elements of B in registers and 4 x 16 of A in shared memory.",
          "One load from shared memory serves a multiply-add, not two, and all threads of a warp read the "
          "same address."),
      rung_of(
          "cuda:register_tiles", "register tiles and vector loads", "cuda:block_64x16",
          "A thread holds 8 x 8 outputs (4 x 4 in fp64), loads packs of 16 bytes, and shared memory has two "
          "buffers.",
          "Sixteen loaded elements serve 64 multiply-adds, and loads from memory overlap with arithmetic."),
      rung_of("cuda:async_tiles", "asynchronous copies", "cuda:register_tiles",
              "Copies go straight to shared memory, three steps ahead.",
              "They take no registers and no instructions to store, and more of them are under way."),
      rung_of("cuda:tiles", "tensor cores by mma.sync", "cuda:async_tiles",
              "Tiles travel the same way, and tensor cores multiply them.",
              "Tensor cores do many times the products per cycle; exact fp32 takes three products of tf32 "
              "parts."),
      rung_of("cuda:tf32x3", "split tf32, where it is fastest", "cuda:tiles",
              "The same kernel, offered for exact fp32 on small products only.",
              "Below a billion multiply-adds it beats the library's ordinary arithmetic."),
      rung_of("cuda:bf16x6", "split bf16", "cuda:tiles",
              "Every factor is three bf16 parts, exact to the last bit, and six products of parts are done.",
              "Six products at twice the rate of tf32 take as long as three, and splitting takes more "
              "instructions; "
              "what is gained is accuracy, without a scale for any range of values."),
      rung_of(
          "cuda:fp16x3", "split fp16", "cuda:tiles",
          "Both factors are scaled and stored as two fp16 parts, and the library multiplies the parts.",
          "fp16 has the significand of tf32 at twice its rate; pieces of k are summed in fp32 to keep the "
          "accuracy."),
      rung_of(
          "cuda:wgmma", "warp-group instructions and bulk copies", "cuda:tiles",
          "Four warps multiply together, straight from shared memory, which one thread's bulk copies fill.",
          "Operands no longer pass through registers, and only these instructions reach the peak of Hopper."),
      rung_of("cuda:fp16x3_wgmma", "split fp16 by warp-group instructions", "cuda:fp16x3",
              "One kernel multiplies both parts and adds pieces of k up in registers.",
              "Partial sums are no longer written to memory and read again."),
      rung_of(
          "cuda:fp16x3_rows", "split fp16 on the way to the tensor cores", "cuda:fp16x3_wgmma",
          "The larger factor is read as it is and split in registers; only the smaller one is written in "
          "parts.",
          "The larger factor crosses memory once, not three times; every tile of columns splits it anew."),
      rung_of("cuda:fp16_wgmma", "scaled fp16 in place of tf32", "cuda:wgmma",
              "Where tf32 is allowed, both factors are scaled and rounded to fp16, which keeps as many bits.",
              "fp16 has twice the rate of tf32 and half its bytes; the copies are one more pass over both "
              "factors."),
      rung_of("cuda:fp64_tiles", "larger tiles for fp64", "cuda:tiles",
              "Tiles of 128 x 128; fragments are loaded where the products want them, one product ahead.",
              "A tile of twice the side reads half as much of L2 for each product, and tensor cores wait "
              "neither for loads nor for moves between registers."),
      rung_of("cuda:thin", "few columns, clusters of blocks", "cuda:skinny",
              "Blocks of a cluster share the sum over k and add it up through distributed shared memory.",
              "All multiprocessors take part, and there is no second launch."),
      rung_of("cuda:slices", "small products, warps share k", "cuda:tiles",
              "Tiles of 32 x 32; each warp multiplies a slice of k straight from memory, and the sums meet "
              "in the end.",
              "A small product waits for loads and for one step of k after another: here all warps wait at "
              "once."),
      rung_of(
          "cuda:clusters", "small products, blocks share k", "cuda:tiles",
          "Blocks of a cluster share the sum of a tile; each asks for its stretch of k at once, and the sums "
          "meet in distributed shared memory.",
          "Few tiles keep all multiprocessors busy, and there is neither a workspace nor a second launch."),
      rung_of("cuda:skinny", "few rows or columns", "",
              "One pass over the large factor, with the small one in registers.",
              "A tile of 64 or 128 columns would be mostly empty here."),
      rung_of("cuda:outer", "short sums", "",
              "Blocks write C once and hold the short factors in shared memory.",
              "With few terms the product is bound by writing C."),
      rung_of("cuda:cublaslt", "cuBLASLt", "cuda:tiles", "NVIDIA's library does the product.",
              "It uses instructions of the chip that the kernels above do not."),
  };
}

}  // namespace

const Ladder& gemm_ladder() {
  static const Ladder ladder = [] {
    Ladder all{.op = "gemm", .rungs = cpu_rungs()};
    for (Rung& r : gpu_rungs()) all.rungs.push_back(std::move(r));
    return all;
  }();
  return ladder;
}

double gemm_bytes(const GemmSize& size, DType dtype) {
  const double m = double(size.m), n = double(size.n), k = double(size.k);
  return (m * k + k * n + (size.beta != 0 ? 2 : 1) * m * n) * double(size_of(dtype));
}

LadderProblem gemm_ladder_problem(const GemmSize& size, DType dtype) {
  LadderProblem problem{.name = fmt::format("{} x {} x {}", size.m, size.n, size.k),
                        .inputs = {{{size.m, size.k}, dtype}, {{size.k, size.n}, dtype}},
                        .attrs = {{"alpha", size.alpha}, {"beta", size.beta}}};
  if (size.beta != 0) problem.inputs.push_back({{size.m, size.n}, dtype});
  return problem;
}

LadderRun climb_gemm(Device& device, const Machine& machine, const GemmSize& size, DType dtype,
                     LadderOptions options) {
  constexpr std::int64_t kSmall = 128;
  GemmSize small = size;
  for (std::int64_t* side : {&small.m, &small.n, &small.k}) *side = std::min(*side, kSmall);
  options.small = gemm_ladder_problem(small, dtype);
  LadderRun run = climb(
      device, machine, gemm_ladder(), gemm_ladder_problem(size, dtype),
      [](const Problem& problem, const std::vector<HostTensor>& inputs, const Policy& policy) {
        return gemm_check(problem, inputs, policy);
      },
      options);
  run.published = published_gemms(size, dtype);
  return run;
}

}  // namespace headroom

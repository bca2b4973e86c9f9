// The climb in words: for each kernel what it changes, and why that should help.
#include "bench/conv2d_rungs.h"

namespace headroom {
namespace {

Rung with_variant(Rung rung, std::string variant, std::string name = {}) {
  if (!name.empty()) rung.name = std::move(name);
  rung.variant = std::move(variant);
  return rung;
}

// One thread for each output, and what can be done for it.
std::vector<Rung> thread_rungs() {
  return {
      with_variant(
          rung_of("cuda:naive", "one thread for each output", "",
                  "Blocks of 16 x 16 threads, one output each; the grid runs over images, maps and tiles.",
                  "Every product reads its filter and adds to the output in memory."),
          "block=16"),
      with_variant(rung_of("cuda:registers", "sum in a register", "cuda:naive",
                           "The sum stays in a register until it is stored once.",
                           "A write through to L2 and the wait for it go away at every product."),
                   "block=16"),
      with_variant(
          rung_of("cuda:unrolled", "unrolled, restrict", "cuda:naive",
                  "The size of the window is known to the compiler and no pointer aliases another.",
                  "Counters and compares go away, loads move ahead of the products, and the compiler keeps "
                  "the sum in a register by itself."),
          "block=16,coarsen=1"),
      with_variant(
          rung_of("cuda:constant", "filters in constant memory", "cuda:naive",
                  "Filters are copied to constant memory first, within the time.",
                  "All threads of a warp read the same weight, which the constant cache gives them in one "
                  "access; the output is still updated in memory."),
          "block=16"),
      with_variant(rung_of("cuda:constant_registers", "+ sum in a register", "cuda:constant",
                           "Constant filters and the sum in a register.",
                           "What is left of a product is one load of the image."),
                   "block=16"),
      with_variant(rung_of("cuda:constant_unrolled", "+ unrolled, restrict", "cuda:constant_registers",
                           "The loops over the window are unrolled as well.",
                           "Weights become operands of the multiply-adds, at addresses that are constants."),
                   "block=16,coarsen=1"),
      with_variant(rung_of("cuda:constant_unrolled", "+ four maps a thread", "cuda:constant_unrolled",
                           "A thread computes four maps of its pixel.",
                           "Each element of the image that is read serves four products."),
                   "block=16,coarsen=4", "cuda:coarsened"),
      with_variant(rung_of("cuda:half_storage", "+ tensors in fp16", "cuda:constant_unrolled",
                           "Images, filters and outputs are stored in fp16; sums stay in fp32.",
                           "Half the bytes move; the products and their number are the same."),
                   "block=16,coarsen=1"),
      with_variant(
          rung_of("cuda:shared_tiles", "tiles in shared memory", "cuda:registers",
                  "A block copies what its windows see of a channel to shared memory first.",
                  "Neighbours read the same pixels from shared memory, but the L1 cache did much of this "
                  "already, and two barriers a channel are new."),
          "block=16"),
  };
}

// Who computes what.
std::vector<Rung> mapping_rungs() {
  return {
      rung_of("cuda:block_per_image", "a block for each image", "cuda:registers",
              "A block of 256 threads computes all outputs of an image.",
              "Few images leave multiprocessors idle; many keep an image in one L1 cache."),
      rung_of("cuda:block_per_map", "a block for each image and map", "cuda:block_per_image",
              "A block computes one map of an image.",
              "There are as many times more blocks as there are maps."),
      rung_of("cuda:channel_tree", "input maps in parallel, tree", "cuda:registers",
              "Threads share the channels of an output, and a tree in shared memory adds up their parts.",
              "There is more parallel work for the same products; it pays only where outputs are too few."),
      rung_of(
          "cuda:channel_atomics", "input maps in parallel, atomics", "cuda:channel_tree",
          "Every channel adds its part to the output in L2, in any order.",
          "No barrier is left, but each output is updated once for every channel instead of stored once."),
  };
}

// The convolution as a product of matrices.
std::vector<Rung> product_rungs() {
  return {
      rung_of("cuda:unroll_matmul", "unroll, then matmul", "cuda:naive",
              "The unrolled image is written to memory, chunk by chunk, and multiplied by tiles of 16 x 16.",
              "A product reads from shared memory; the matrix, once for each tap larger than the image, is "
              "written "
              "and read."),
      rung_of("cuda:unroll_streams", "+ two streams", "cuda:unroll_matmul",
              "Chunks alternate between two streams.",
              "Unrolling waits for memory and multiplying for arithmetic, so one can fill the other's gaps, "
              "unless "
              "each fills the GPU by itself."),
      with_variant(
          rung_of(
              "cuda:fused_matmul", "unroll and matmul fused", "cuda:unroll_matmul",
              "Tiles of the unrolled image are gathered when they are needed and never stored.",
              "The matrix disappears from memory; its indices are computed again for every tile of maps."),
          "tile=16"),
      rung_of("cuda:register_matmul", "+ register tiles", "cuda:fused_matmul",
              "Each thread keeps 4 x 4 sums in registers.",
              "Eight values read from shared memory serve 16 products instead of one each."),
      rung_of("cuda:per_layer", "a kernel for each layer size", "cuda:register_matmul",
              "Layers with few products a window run the coarsened kernel, others the product.",
              "Short sums leave a product's tiles mostly empty."),
      rung_of(
          "cuda:winograd", "Winograd F(2x2, 3x3)", "cuda:register_matmul",
          "Tiles and filters are transformed, so that 16 products do the work of 36.",
          "Arithmetic falls by 2.25; the transformed tiles are four times the image and go through memory."),
      rung_of("cuda:fft", "Fourier transforms", "cuda:register_matmul",
              "Tiles and filters are transformed by Fourier, multiplied frequency by frequency, and back.",
              "The products no longer grow with the window, so wide windows gain; spectra go through memory, "
              "and the products, half of it arithmetic with imaginary parts, read what little they multiply "
              "from L2."),
  };
}

// What the engine runs.
std::vector<Rung> engine_rungs() {
  return {
      rung_of("cuda:direct", "the engine's fallback", "cuda:constant_registers",
              "A thread computes four maps of a pixel, for any shape and type.",
              "The image is read once for four maps; nothing is known to the compiler."),
      rung_of("cuda:few_channels", "few channels, register tiles", "cuda:coarsened",
              "Bands of the image in shared memory, 2 rows x 6 columns x 4 maps in registers.",
              "Ordinary arithmetic near its peak, where tensor cores would find too little to sum."),
      rung_of(
          "cuda:pixel_runs", "runs of pixels, register tiles", "cuda:few_channels",
          "A block holds one image; threads make 6 to 14 outputs of a row for 3 or 4 maps, and warps share "
          "the channels.",
          "A line of the image and its weights are read once for over a hundred products."),
      rung_of("cuda:implicit_gemm", "tensor cores, fused product", "cuda:register_matmul",
              "The fused product on tensor cores, in exact fp32 by three products of tf32 parts.",
              "Tensor cores do many times the products per cycle; gathering the image sets the pace."),
      rung_of(
          "cuda:image_mma", "tensor cores, images in shared memory", "cuda:implicit_gemm",
          "A block keeps whole images or bands in shared memory and multiplies what the windows see there.",
          "Each pixel is read from memory once for all maps and taps."),
      rung_of("cuda:block_mma", "tensor cores, two fp16 parts", "cuda:image_mma",
              "Images in shared memory as pairs of fp16 parts, which tensor cores read as they are.",
              "fp16 has the significand of tf32 at twice its rate and half its bytes."),
      rung_of("cuda:pair_mma", "tensor cores, pairs of pixels", "cuda:block_mma",
              "For one channel: quads of outputs from pairs of pixels, with the weights in registers.",
              "Few words are read for many products, and small blocks read images while others multiply."),
      rung_of("cuda:as_linear", "a fully connected layer", "",
              "A window over the whole input is a plain product.", "Nothing has to be gathered."),
      rung_of("cudnn", "cuDNN's best", "cuda:image_mma", "NVIDIA's library, the fastest of its candidates.",
              "It has kernels for instructions of the chip, for Winograd and for FFT."),
  };
}

}  // namespace

std::vector<Rung> conv2d_cpu_rungs() {
  return {
      rung_of("reference", "plain loops", "", "Seven loops on one thread, as the definition reads.",
              "Each multiply-add waits for the one before it, and every index is computed anew."),
      rung_of("cpu:im2col_gemm", "unroll, then multiply", "reference",
              "Each thread unrolls whole images to a matrix and multiplies it with the filters.",
              "The product runs near the peak of the core; the matrix is written and read."),
      rung_of("cpu:im2col_blas", "unroll, then OpenBLAS", "reference",
              "The same with the product of a library.", "The library packs both factors for every image."),
      rung_of("cpu:pixel_lanes", "pixels in lanes", "cpu:im2col_gemm",
              "Neighbouring pixels fill vector registers, and a tile of sums stays in them.",
              "No matrix is stored, and a row of the padded image serves every tap."),
      rung_of("cpu:winograd", "Winograd F(2x2, 3x3)", "cpu:pixel_lanes",
              "Tiles of 4x4 pixels and the filters are transformed; 16 products then make four outputs.",
              "The definition has 36 products for them; the transforms are additions."),
      rung_of("cpu:map_lanes", "maps in lanes", "cpu:im2col_gemm",
              "Gradients of weights: maps of a pixel fill vector registers.",
              "The gradient of the output is transposed, and the image is not unrolled."),
      rung_of("cpu:batch_lanes", "images in lanes", "cpu:pixel_lanes",
              "The lanes of a register are different images.",
              "Any window and any number of channels vectorises without remainder; small layers profit."),
      rung_of("cpu:depthwise", "one channel a group", "cpu:pixel_lanes",
              "A loop of its own for groups of one channel.", "There is nothing to sum over but the taps."),
      rung_of("cpu:as_linear", "a fully connected layer", "cpu:im2col_gemm",
              "A window over the whole input is one product over the batch.", "Nothing has to be unrolled."),
      rung_of("cpu:as_linear_blas", "a fully connected layer by OpenBLAS", "cpu:im2col_blas",
              "The same with the product of a library.", "Nothing has to be unrolled."),
      rung_of("cpu:bf16", "matrix instructions of bf16", "cpu:im2col_gemm",
              "One product over all images: pieces are unrolled and rounded to bf16 where they are packed.",
              "The matrix unit of the processor multiplies them. It needs `precision` bf16."),
      rung_of(
          "cpu:bf16x6", "fp32 in three parts of bf16", "cpu:bf16",
          "Every element is the sum of three bf16, exactly, and six products of parts are added up.",
          "The matrix unit does the six in less time than vectors one, where nothing else shares the core."),
  };
}

std::vector<Rung> conv2d_gpu_rungs() {
  std::vector<Rung> all;
  for (const auto& part : {thread_rungs(), mapping_rungs(), product_rungs(), engine_rungs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace headroom

#pragma once

// What the rungs of the ladder (docs/ladders.md) share. A rung is an idea from a course on GPU programming,
// alone or on top of others: it is there to be measured and read, so it stands last in the list of kernels.

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/conv2d/cuda/shared.h"

namespace headroom {

// All rungs compute in fp32, and count within an image in 32 bits.
Verdict accepts_rung(const Problem& problem, const cuda::Sweep& sweep, DType dtype = DType::f32);

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// Blocks of block x block outputs that cover a plane.
std::int64_t plane_tiles(const cuda::Sweep& sweep, int block);
// What the windows of rows x columns outputs see of all channels of an image: what a block reads through L2
// where the L1 cache or shared memory keeps it.
double seen_bytes(const cuda::Sweep& sweep, int rows, int columns);

// How a launch is cut: a kernel's candidates are "block=16,coarsen=2". A block has block x block threads; a
// thread computes `coarsen` maps of its pixel.
struct RungShape {
  int block = 16, coarsen = 1;
};
std::vector<std::string> rung_shapes(std::initializer_list<int> blocks, std::initializer_list<int> coarsens);
// Rejects, with the reason, what the kernel cannot be: `coarsens` are those it is compiled for. Empty text:
// the course's own 16 x 16.
RungShape parse_rung_shape(std::string_view kernel, const std::string& variant, const cuda::Sweep& sweep,
                           std::initializer_list<int> coarsens);

// The work of a rung whose only launch is the convolution, without products with padding.
Work rung_work(const Problem& problem, const Target& target, std::string_view family, std::int64_t blocks,
               double l2_bytes, ProductExtent tile);

// One form of an idea that a file has several forms of. `idea.name` lives as long as the program;
// `idea.constant`: filters are in constant memory, which launches share, so that two must never overlap.
template <class Idea>
Kernel kernel_of_idea(const Idea& idea, Verdict (*accepts)(const std::type_identity_t<Idea>&, const Problem&),
                      Work (*work)(const std::type_identity_t<Idea>&, const Problem&, const Target&),
                      Launcher (*prepare)(const std::type_identity_t<Idea>&, const Problem&,
                                          const LaunchContext&)) {
  Kernel kernel{.name = idea.name, .device = DeviceKind::cuda, .shares_counter = idea.constant};
  kernel.accepts = [=](const Problem& p, const Target&) { return accepts(idea, p); };
  kernel.work = [=](const Problem& p, const Target& target) { return work(idea, p, target); };
  if (prepare != nullptr)
    kernel.prepare = [=](const Problem& p, const LaunchContext& context) {
      return prepare(idea, p, context);
    };
  return kernel;
}

// The rungs, in the order of the list; files of the same name.
Kernel conv2d_cuda_naive();
Kernel conv2d_cuda_constant();
Kernel conv2d_cuda_registers();
Kernel conv2d_cuda_constant_registers();
Kernel conv2d_cuda_unrolled();
Kernel conv2d_cuda_constant_unrolled();
Kernel conv2d_cuda_half_storage();
Kernel conv2d_cuda_shared_tiles();
Kernel conv2d_cuda_block_per_image();
Kernel conv2d_cuda_block_per_map();
Kernel conv2d_cuda_channel_tree();
Kernel conv2d_cuda_channel_atomics();
Kernel conv2d_cuda_unroll_matmul();
Kernel conv2d_cuda_unroll_streams();
Kernel conv2d_cuda_fused_matmul();
Kernel conv2d_cuda_register_matmul();
Kernel conv2d_cuda_per_layer();
Kernel conv2d_cuda_winograd();
Kernel conv2d_cuda_fft();

}  // namespace headroom

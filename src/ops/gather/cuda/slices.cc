// Forward: elements in the order of the output, in accesses of up to 16 bytes.
#include <algorithm>

#include "ops/gather/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// slices.cu. `outside` is the byte that elements of an index outside are filled with.
void gather(int element_bytes, const GatherShape& shape, unsigned char outside, const void* data,
            const void* indices, void* out, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

Verdict accepts(const Problem&, const Target&) { return accept(); }

// Of a table that is smaller than what is gathered, the first cache keeps the rows.
Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.main().l2_bytes = double(p.inputs[1].bytes()) + double(p.outputs[0].bytes()) +
                         double(std::min(p.inputs[0].bytes(), p.outputs[0].bytes()));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  // NaN in every float type. Integers get a number far below 0: sums of such numbers and of places in a
  // tensor lie outside that tensor too, so that a gather by computed places notices.
  const unsigned char outside = is_float(p.outputs[0].dtype) ? 0xFF : 0x80;
  return [shape = gather_shape(p), bytes = static_cast<int>(size_of(p.outputs[0].dtype)),
          outside](const LaunchArgs& a) {
    cuda::gather(bytes, shape, outside, a.inputs[0], a.inputs[1], a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel gather_cuda_slices() {
  return {.name = "cuda:slices",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom

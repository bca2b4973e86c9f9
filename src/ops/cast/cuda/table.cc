// Many tensors in one launch, by a table of their addresses.
#ifdef HEADROOM_HAS_CUDA
#include "ops/cast/cuda/table.h"

#include "ops/cuda/launch.h"
#endif
#include "ops/cast/cast.h"

namespace headroom {
namespace {

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const DType from = p.inputs[0].dtype, to = p.outputs[0].dtype;
  if ((from == DType::f32 && is_16bit(to)) || (is_16bit(from) && to == DType::f32)) return accept();
  return refuse("converts only between fp32 and 16-bit types");
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  std::vector<std::int64_t> sizes;
  for (const TensorType& type : p.inputs) sizes.push_back(type.shape.numel());
  return [sizes, from = p.inputs[0].dtype, to = p.outputs[0].dtype,
          scale = p.attrs.real("scale", 1)](const LaunchArgs& a) {
    cuda::TensorTable table;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      const auto row = table.at[table.add(sizes[t], cuda::kCastChunk)];
      row[0] = const_cast<void*>(a.inputs[t]), row[1] = a.outputs[t];  // the first is only read
      if (!table.full() && t + 1 < sizes.size()) continue;
      cuda::cast_all(from, to, scale, table, cuda::stream_of(a));
      table = {};
    }
  };
}
#endif

}  // namespace

Kernel cast_all_cuda_table() {
  return {.name = "cuda:table",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .prepare = HEADROOM_CUDA(prepare),
          .layouts = Layouts::any};
}

}  // namespace headroom

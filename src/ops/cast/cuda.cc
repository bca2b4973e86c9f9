#include "ops/cast/cuda.h"

#include "ops/cast/cast.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

cuda::Through through_of(const Problem& p) {
  const std::string name = p.attrs.text("through");
  return name == "fp16" ? cuda::Through::fp16 : name == "bf16" ? cuda::Through::bf16 : cuda::Through::nothing;
}

}  // namespace

Launcher prepare_cast_cuda(const Problem& p, const LaunchContext&) {
  return [from = p.inputs[0].dtype, to = p.outputs[0].dtype, n = p.inputs[0].shape.numel(),
          scale = p.attrs.real("scale", 1), through = through_of(p)](const LaunchArgs& a) {
    cuda::cast(from, to, n, scale, through, a.inputs[0], a.outputs[0], cuda::stream_of(a));
  };
}

Launcher prepare_cast_all_cuda(const Problem& p, const LaunchContext&) {
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

}  // namespace headroom

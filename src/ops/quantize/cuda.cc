#include "ops/quantize/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/quantize/quantize.h"

namespace headroom {

Launcher prepare_quantize_cuda(const Problem& p, const LaunchContext&) {
  const ScaleMap map = scale_map(p);
  const cuda::ScaleShape shape{.count = p.outputs[0].shape.numel(),
                               .length = map.length,
                               .inner = map.inner,
                               .block = map.kind == ScaleMap::Kind::blocks ? map.block : 0,
                               .blocks = map.blocks,
                               .whole = map.kind == ScaleMap::Kind::whole,
                               .one_zero = p.inputs[2].shape.numel() == 1};
  const cuda::QuantizeTensors types{
      .x = p.inputs[0].dtype, .scale = p.inputs[1].dtype, .y = p.outputs[0].dtype};
  return [=, back = p.op == "dequantize", low = static_cast<int>(p.attrs.integer("low")),
          high = static_cast<int>(p.attrs.integer("high"))](const LaunchArgs& a) {
    cuda::QuantizeTensors tensors = types;
    tensors.from = a.inputs[0], tensors.scales = a.inputs[1], tensors.zeros = a.inputs[2];
    tensors.to = a.outputs[0];
    if (back)
      cuda::dequantize(shape, tensors, cuda::stream_of(a));
    else
      cuda::quantize(shape, tensors, low, high, cuda::stream_of(a));
  };
}

}  // namespace headroom

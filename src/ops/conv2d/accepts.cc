// Which convolutions our GPU kernels take, and the workspace they need.
#include "ops/conv2d/plans.h"

namespace headroom {
namespace {

using cuda::Sweep;

bool is_weight_gradient(const Problem& p) { return p.op == "conv2d_grad_weight"; }

// What both kernels on the tensor cores ask.
Verdict fits_tensor_cores(const Problem& p, const Sweep& s, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  if (capabilities.compute_capability < 80) return refuse("its products need compute capability 8.0");
  if (s.groups > 1 && (s.maps < 4 || s.channels < 2))
    return refuse("groups this narrow leave the tensor cores idle");
  return accept();
}

std::size_t weight_sums(const Problem& p, int pieces) {
  const std::size_t element = p.outputs[0].dtype == DType::f64 ? 8 : 4;
  return element * static_cast<std::size_t>(p.outputs[0].shape.numel()) * static_cast<std::size_t>(pieces);
}

}  // namespace

Verdict accepts_conv2d_image(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, capabilities); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("images are held in fp32");
  if (s.maps > 64) return refuse("more than 64 maps in a group: larger tiles pay");
  if (s.out_plane() < 32) return refuse("fewer than 32 outputs per image and map");
  const auto plan = is_weight_gradient(p) ? image_weight_plan(s, capabilities) : image_plan(s, capabilities);
  if (!plan) return refuse("a band of the image does not fit into shared memory");
  return accept();
}

Verdict accepts_conv2d_implicit(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, capabilities); !v.ok) return v;
  if (s.pixels() > 0x7FFF0000LL || s.groups * ((s.maps + 15) / 16) > 65535)
    return refuse("more pixels or groups than its indices count");
  return accept();
}

std::size_t workspace_conv2d_cuda_direct(const Problem& p, const Capabilities& capabilities) {
  return is_weight_gradient(p) ? weight_sums(p, direct_weight_pieces(sweep_of(p), capabilities)) : 0;
}

std::size_t workspace_conv2d_image(const Problem& p, const Capabilities& capabilities) {
  if (!is_weight_gradient(p)) return 0;
  const auto plan = image_weight_plan(sweep_of(p), capabilities);
  return weight_sums(p, plan ? plan->workers : 1);
}

std::size_t workspace_conv2d_implicit(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (is_weight_gradient(p)) return weight_sums(p, implicit_weight_pieces(s, capabilities));
  const int pieces = implicit_pieces(s, capabilities);
  return pieces > 1 ? weight_sums(p, pieces) : 0;
}

}  // namespace headroom

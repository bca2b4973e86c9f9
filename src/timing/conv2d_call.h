#pragma once

#include "timing/kernel_form.h"

namespace headroom {

// One convolution call: a row of a table with its defaults filled in.
struct Conv2dCall {
  enum class Pass { kForward, kDataGradient, kWeightGradient };

  Pass pass = Pass::kForward;
  double batch = 1, cin = 1, cout = 1;
  double height = 1, width = 1;  // of the input image
  double kernel_h = 1, kernel_w = 1;
  double stride = 1, pad = 0, dilation = 1, groups = 1;
  double out_h = 1, out_w = 1;

  double pixels_in() const { return batch * height * width; }
  double pixels_out() const { return batch * out_h * out_w; }
  double taps() const { return kernel_h * kernel_w; }
  double group_cin() const { return cin / groups; }
  double group_cout() const { return cout / groups; }
  // fp32 tensors.
  double image_bytes() const { return 4 * pixels_in() * cin; }
  double output_bytes() const { return 4 * pixels_out() * cout; }
  double weight_bytes() const { return 4 * cout * group_cin() * taps(); }
  double bytes() const { return image_bytes() + output_bytes() + weight_bytes(); }
  double multiply_adds() const { return pixels_out() * cout * group_cin() * taps(); }
  bool is_depthwise() const { return groups == cin && groups > 1; }
};

const std::vector<KernelForm::Size>& conv2d_sizes();
// Rejects sizes that describe no convolution; `where` names the row in messages.
Conv2dCall conv2d_call(const TimingRow& row, const std::string& where = "a convolution");

}  // namespace headroom

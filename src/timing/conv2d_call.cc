#include "timing/conv2d_call.h"

#include <cmath>

#include "base/error.h"

namespace headroom {
namespace {

// The order of the columns in conv2d_sizes.
enum Column {
  kBatch,
  kCin,
  kCout,
  kKernel,
  kSize,
  kStride,
  kPad,
  kDilation,
  kGroups,
  kKernelWidth,
  kWidth,
  kPass
};

double output_size(const std::string& where, double size, double kernel, const Conv2dCall& call) {
  const double reach = call.dilation * (kernel - 1) + 1, padded = size + 2 * call.pad;
  if (reach > padded)
    reject(Hint{"make its size or its padding larger"},
           "{}: a kernel that reaches over {} pixels does not fit an image of {} with its padding", where,
           reach, padded);
  return std::floor((padded - reach) / call.stride) + 1;
}

}  // namespace

const std::vector<KernelForm::Size>& conv2d_sizes() {
  static const std::vector<KernelForm::Size> sizes = {
      {"batch", {}},   {"cin", {}},     {"cout", {}},
      {"kernel", {}},  {"size", {}},    {"stride", 1},
      {"pad", 0},      {"dilation", 1}, {"groups", 1},
      {"kernel_w", 0}, {"width", 0},    {"pass", 0, {"forward", "data_gradient", "weight_gradient"}}};
  return sizes;
}

Conv2dCall conv2d_call(const TimingRow& row, const std::string& where) {
  const auto& s = row.sizes;
  Conv2dCall call;
  call.pass = static_cast<Conv2dCall::Pass>(static_cast<int>(s[kPass]));
  call.batch = s[kBatch], call.cin = s[kCin], call.cout = s[kCout];
  call.height = s[kSize], call.width = s[kWidth] == 0 ? s[kSize] : s[kWidth];
  call.kernel_h = s[kKernel], call.kernel_w = s[kKernelWidth] == 0 ? s[kKernel] : s[kKernelWidth];
  call.stride = s[kStride], call.pad = s[kPad], call.dilation = s[kDilation], call.groups = s[kGroups];
  if (std::fmod(call.cin, call.groups) != 0 || std::fmod(call.cout, call.groups) != 0)
    reject(Hint{"give a number of groups that divides both"},
           "{}: {} groups do not divide {} input and {} output channels", where, call.groups, call.cin,
           call.cout);
  call.out_h = output_size(where, call.height, call.kernel_h, call);
  call.out_w = output_size(where, call.width, call.kernel_w, call);
  return call;
}

}  // namespace headroom

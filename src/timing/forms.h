#pragma once

// The formulas, one function per file. Each is listed in kernel_forms().

#include "timing/kernel_form.h"

namespace headroom {

const KernelForm& gemm_form();        // gemm_form.cc: bf16 and fp8 products on tensor cores
const KernelForm& linear_form();      // linear_form.cc: fp32 linear layers and batched products
const KernelForm& conv2d_form();      // conv2d_form.cc: fp32 convolutions and their gradients
const KernelForm& collective_form();  // collective_form.cc: exchanges among GPUs of one host

}  // namespace headroom

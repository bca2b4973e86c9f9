#pragma once

// The formulas, one function per file. Each is listed in kernel_forms().

#include "timing/kernel_form.h"

namespace headroom {

const KernelForm& gemm_form();    // gemm_form.cc: bf16 and fp8 products on tensor cores
const KernelForm& linear_form();  // linear_form.cc: fp32 linear layers and batched products

}  // namespace headroom

#pragma once

#include <string>

#include "base/dtype.h"

namespace headroom {

// "fp32" or "fp64"; else an Error.
DType precision_named(const std::string& name);

void require_threads(int threads);
void require_at_least_one(std::int64_t value, const char* what);

}  // namespace headroom

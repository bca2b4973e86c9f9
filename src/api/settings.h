#pragma once

#include <string>

#include "base/dtype.h"

namespace headroom {

// As the command line names them; else an Error.
struct Precision {
  DType dtype;
  bool tf32;
};
Precision precision_named(const std::string& name);
DType cpu_precision(const std::string& name);  // fp32 or fp64

void require_threads(int threads);
void require_at_least_one(std::int64_t value, const char* what);

}  // namespace headroom

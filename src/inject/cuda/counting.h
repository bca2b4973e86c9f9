#pragma once

#include <string>

namespace headroom::inject {

// Counts the kernels that the program launches, in the first context that launches one. Names of counters
// stand with commas between them. False if CUPTI cannot be attached; `why_not` tells.
bool begin_counting(const std::string& counters, std::string& why_not);
void finish_counting();  // before the process ends

}  // namespace headroom::inject

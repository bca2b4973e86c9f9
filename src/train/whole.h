#pragma once

#include <string>
#include <vector>

#include "train/engine.h"

namespace headroom {

// Stored tensors as one process would have them, whatever ranks have cut up. All ranks call these, in the
// same order.
TensorType whole_type(const Engine& engine, const std::string& name);
std::vector<std::byte> read_whole(const Engine& engine, const std::string& name);
void write_whole(Engine& engine, const std::string& name, const std::vector<std::byte>& whole);

}  // namespace headroom

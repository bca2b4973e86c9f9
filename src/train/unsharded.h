#pragma once

#include <string>
#include <vector>

#include "train/engine.h"

namespace headroom {

// Stored tensors as a single process would hold them, however ranks have split them. All ranks call these
// functions in the same order.
TensorType unsharded_type(const Engine& engine, const std::string& name);
std::vector<std::byte> read_unsharded(const Engine& engine, const std::string& name);
void write_unsharded(Engine& engine, const std::string& name, const std::vector<std::byte>& whole);

}  // namespace headroom

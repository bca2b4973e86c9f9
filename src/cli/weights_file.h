#pragma once

#include <string>

#include "train/weights.h"

namespace headroom::cli {

// The model to build for a file of weights: the user's, with the options the file was saved with wherever the
// user gave none. A new head leaves those to the data that the data decides. Says so if it is another
// network.
std::string adopted(const std::string& model, const std::string& weights, bool new_head = false);

// Loads the file and says what was not loaded.
void load(Engine& engine, const std::string& weights, bool new_head = false);

}  // namespace headroom::cli

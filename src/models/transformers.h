#pragma once

#include "models/zoo.h"

namespace headroom {

std::vector<ZooEntry> transformer_entries();

Net make_vit(ModelOptions& options);
Net make_gpt2(ModelOptions& options);

}  // namespace headroom

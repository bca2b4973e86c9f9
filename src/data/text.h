#pragma once

#include "data/dataset.h"

namespace headroom {

// Any file as text of bytes: at most 256 tokens, no separate vocabulary. The last tenth is for testing. Items
// are consecutive runs of options.context bytes; the label of each byte is the next byte.
Dataset read_text(const std::filesystem::path& file, const DataOptions& options);

}  // namespace headroom

#pragma once

#include "data/dataset.h"

namespace headroom {

// Any file as text of bytes: up to 256 tokens, no vocabulary to agree on. The last tenth is for testing.
// Items are stretches of options.context bytes, one after the other; each byte's label is the byte that
// follows it.
Dataset read_text(const std::filesystem::path& file, const DataOptions& options);

}  // namespace headroom

#pragma once

#include <functional>

#include "comm/communicator.h"
#include "data/dataset.h"

namespace headroom {

// The first rank reads and all ranks get the data. If it fails, all ranks throw its error.
Dataset broadcast_dataset(Communicator& ranks, const std::function<Dataset()>& read);

}  // namespace headroom

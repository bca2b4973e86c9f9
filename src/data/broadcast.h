#pragma once

#include <functional>

#include "comm/communicator.h"
#include "data/dataset.h"

namespace headroom {

// What the first rank reads, on all of them; where it cannot, the error is everybody's.
Dataset broadcast_dataset(Communicator& ranks, const std::function<Dataset()>& read);

}  // namespace headroom

#pragma once

#include <vector>

#include "data/dataset.h"
#include "data/preprocess.h"
#include "headroom/data.h"

namespace headroom {

struct Data::Impl {
  Dataset set;
  Preprocess preprocess;
  std::vector<std::int64_t> shape;
};

}  // namespace headroom

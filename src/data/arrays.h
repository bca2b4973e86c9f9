#pragma once

#include <string>

#include "data/dataset.h"

namespace headroom {

// "INPUTS.npy,TARGETS.npy": items along the first axis of both arrays. Every tenth item is for testing. The
// numbers are used as they are; an item of one axis is a row, of two a plane, of three channels of planes.
Dataset read_arrays(const std::string& files);

}  // namespace headroom

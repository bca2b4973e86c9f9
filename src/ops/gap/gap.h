#pragma once

#include "ops/operator.h"

namespace headroom {

// gap(X…; op, shapes, dtypes) -> Y…
//   An operator of a file that is not known here, where the file tells the shapes of its results: `shapes`
//   holds rank and extents of each, `dtypes` their types. It has neither kernel nor gradient, and what it
//   computes is unknown: its cost is the traffic alone, and whoever adds costs up must name it.
std::vector<Operator> gap_operators();

}  // namespace headroom

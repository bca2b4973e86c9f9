#pragma once

#include "ops/operator.h"

namespace headroom {

// concat(x...; axis): the inputs one after the other along an axis.
// split(x; axis, sizes | parts): the reverse, into pieces of given sizes or into `parts` of equal size (the
// last one smaller where they do not divide the extent).
// split_grad(dy...; axis, sizes, present): concat with zeros in place of the pieces that present marks with
// 0, which have no input: outputs of a split that nothing used. All of them take every element type.
std::vector<Operator> concat_operators();

// The whole tensor as a matrix whose rows are cut into pieces; axes before the cut count its rows.
struct ConcatPieces {
  std::int64_t rows = 1, row = 0;
  std::vector<std::int64_t> lengths;  // elements of each piece in one row
  std::vector<bool> present;          // false: the piece has no tensor, and reads as zeros
};
ConcatPieces concat_pieces(const Problem& problem);  // of any of the three

Launcher prepare_concat_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom

#pragma once

#include "ops/operator.h"

namespace headroom {

// Sums over ranks, as steps of a plan. `group` is "data" or "model": see comm/groups.h. Where a plan runs
// without ranks, it is the only one.
//
// all_reduce(x; group, backward = "same"|"sum") -> the sum of all ranks' x, in place; waits for it. Its
//   gradient: where every rank goes on to compute the same loss, the same on each ("same"); where each has a
//   loss of its own, the sum ("sum").
// enter_split(x; group) -> x, a view: where a value that all ranks share meets layers that they have cut up.
//   Its gradient is the sum of theirs.
// all_reduce_start(x; group) -> x, in place: begins the exchange and goes on. all_reduce_finish waits for it.
// all_reduce_start(x1, x2, …; group) -> all of them, one behind the other, and in one exchange; a single x
//   only where packed = 1.
// all_reduce_finish(x; group) -> the sum, in place.
// all_reduce_finish(packed, x1, x2, …; group) -> the sums, each of its own shape.
// all_reduce_start(x; group, scatter = 1) -> x, in place, of which this rank's share of the elements (see
//   share_of) will hold the sum.
// part_of(x; first, count) -> so many elements of x, a view.
// all_gather(part; group, first, whole) -> part, in place: `part` begins at element `first` of a tensor of
//   `whole` elements, of which every rank has its share; then all have all of it.
// matmul_reduce(a, b; group, pieces) -> a^T b, of which so many bands of rows are exchanged as soon as each
//   is there, while the next is computed. all_reduce_finish waits for all of them.
std::vector<Operator> all_reduce_operators();

OpSchema all_reduce_schema();
OpSchema all_reduce_start_schema();
OpSchema all_reduce_finish_schema();
OpSchema matmul_reduce_schema();
OpSchema part_of_schema();
OpSchema all_gather_schema();
OpSchema enter_split_schema();

std::int64_t elements_of(const std::vector<TensorType>& types);  // of all of them together

// What a step of a plan gives to other ranks; nothing for most.
struct Exchange {
  std::string group;
  std::int64_t bytes = 0, calls = 0;
};
Exchange exchange_of(const Problem& problem);
// What it waits for: its own exchange, or one that another step has begun.
Exchange awaited_of(const Problem& problem);

Launcher prepare_all_reduce_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_all_reduce_start_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_all_gather(const Problem& problem, const LaunchContext& context);  // on any device
Launcher prepare_all_reduce_finish_cuda(const Problem& problem, const LaunchContext& context);

// Between tensors of one device, in the order of its stream.
using CopyBytes = void (*)(const LaunchArgs& args, void* to, const void* from, std::size_t bytes);
Launcher prepare_all_reduce(const Problem& problem, const LaunchContext& context, CopyBytes copy);
Launcher prepare_all_reduce_start(const Problem& problem, const LaunchContext& context, CopyBytes copy);
Launcher prepare_all_reduce_finish(const Problem& problem, const LaunchContext& context, CopyBytes copy);

}  // namespace headroom

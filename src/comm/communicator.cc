#include "comm/communicator.h"

namespace headroom {

std::string_view name_of(Collective::Kind kind) {
  constexpr std::array<std::string_view, Collective::kKinds> kNames = {"all_reduce", "reduce_scatter",
                                                                       "all_gather", "broadcast", "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Communicator::broadcast(void* data, std::size_t bytes, int root) {
  run({.kind = Collective::Kind::broadcast,
       .data = data,
       .count = static_cast<std::int64_t>(bytes),
       .dtype = DType::u8,
       .root = root});
}

void Communicator::all_reduce(double* values, std::int64_t count, Reduction reduction) {
  run({.kind = Collective::Kind::all_reduce,
       .data = values,
       .count = count,
       .dtype = DType::f64,
       .reduction = reduction});
}

}  // namespace headroom

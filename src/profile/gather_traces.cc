#include "profile/gather_traces.h"

#include "base/json.h"

namespace headroom {

Trace gather_traces(const Trace& own, std::int64_t origin_ns, Groups& groups) {
  Communicator& world = groups.world();
  Trace all;
  for (int rank = 0; rank < world.size(); ++rank) {
    std::string text = rank == world.rank() ? to_json(own).dump() : std::string();
    std::int64_t header[2] = {static_cast<std::int64_t>(text.size()), origin_ns};
    world.broadcast(header, sizeof header, rank);
    text.resize(static_cast<std::size_t>(header[0]));
    world.broadcast(text.data(), text.size(), rank);
    Trace other = trace_from_json(Json::parse(text), fmt::format("rank {}", rank));
    shift(other, header[1] - origin_ns);
    append(all, other);
  }
  return all;
}

}  // namespace headroom

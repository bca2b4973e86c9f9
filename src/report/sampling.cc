#include "report/sampling.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/record.h"

namespace headroom {

Json spread_json(const Sampled& seconds) {
  Json json = spread_json(static_cast<const Spread&>(seconds));
  json["dropped"] = seconds.dropped;
  json["settled"] = seconds.settled;
  return json;
}

std::string sampling_note(const std::vector<Sampled>& medians) {
  int dropped = 0, noisy = 0, timed = 0;
  for (const Sampled& m : medians) {
    if (m.samples == 0) continue;
    ++timed;
    dropped += m.dropped;
    noisy += !m.settled;
  }
  std::string text;
  if (dropped > 0) text += fmt::format("Dropped {} disturbed sample{}. ", dropped, dropped == 1 ? "" : "s");
  if (noisy > 0)
    text += fmt::format("{} of {} medians {} noisier than {:.0f} %. ", noisy, timed,
                        noisy == 1 ? "is" : "are", 100 * kSettledNoise);
  if (!text.empty()) text.back() = '\n';
  return text;
}

}  // namespace headroom

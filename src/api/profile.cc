#include "headroom/profile.h"

#include "api/layer_times.h"
#include "api/timer_table.h"
#include "base/text.h"
#include "base/units.h"

namespace headroom {

std::string Profile::text() const {
  std::string text = fmt::format("{}, batch {}, {}, {} ({}), one training step:\n\n{}\n", model, batch,
                                 precision, machine, counted(threads, "thread"), layer_times_table(layers));
  text +=
      fmt::format("step {} median of {}, floor {}\n", human_seconds(step_s), samples, human_seconds(floor_s));
  return timers.empty() ? text : text + "\n" + timer_table(timers);
}

}  // namespace headroom

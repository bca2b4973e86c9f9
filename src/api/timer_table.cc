#include "api/timer_table.h"

#include "base/sheet.h"

namespace headroom {

std::string timer_table(const std::vector<TimerRow>& rows) {
  Sheet sheet("timers", {{.key = "timer", .title = "timer"},
                         {.key = "calls", .title = "calls", .format = Column::Format::commas},
                         {.key = "total_ms", .title = "total ms", .unit = "ms"},
                         {.key = "self_ms", .title = "self ms", .unit = "ms"},
                         {.key = "mean_ms", .title = "mean ms", .unit = "ms"},
                         {.key = "min_ms", .title = "min ms", .unit = "ms"},
                         {.key = "max_ms", .title = "max ms", .unit = "ms"}});
  for (const TimerRow& row : rows)
    sheet.row({std::string(static_cast<std::size_t>(2 * row.depth), ' ') + row.name, std::int64_t{row.calls},
               row.total_s * 1e3, row.self_s * 1e3, row.mean_s() * 1e3, row.min_s * 1e3, row.max_s * 1e3});
  return sheet.text();
}

}  // namespace headroom

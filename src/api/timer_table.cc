#include "api/timer_table.h"

#include "base/table.h"
#include "base/units.h"

namespace headroom {

std::string timer_table(const std::vector<TimerRow>& rows) {
  Table table({"timer", "calls", "total ms", "self ms", "mean ms", "min ms", "max ms"});
  auto ms = [](double seconds) { return fixed_or_small(seconds * 1e3); };
  for (const TimerRow& row : rows)
    table.row({std::string(static_cast<std::size_t>(2 * row.depth), ' ') + row.name, with_commas(row.calls),
               ms(row.total_s), ms(row.self_s), ms(row.mean_s()), ms(row.min_s), ms(row.max_s)});
  return table.str();
}

}  // namespace headroom

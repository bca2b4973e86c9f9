#include <algorithm>

#include "page/html.h"
#include "page/section.h"
#include "report/profile_memory.h"

namespace headroom {

PageSection memory_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"memory", "Memory"};
  if (!r.memory || r.memory->planned.steps.empty()) return section;
  LineChart chart{.title = "Memory over the steps of the plan",
                  .x = {.label = "step of the plan"},
                  .y = {.label = "alive", .unit = "MB", .shows = {0}},
                  .markers = false};
  const std::vector<MemoryBytes>& steps = r.memory->planned.steps;
  const auto add = [&](std::string name, const auto& bytes_of) {
    LineSeries line{.name = std::move(name)};
    double most = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      line.points.push_back({double(s), double(bytes_of(steps[s])) / 1e6});
      most = std::max(most, line.points.back().y);
    }
    if (most > 0) chart.series.push_back(std::move(line));
  };
  add("all together", [](const MemoryBytes& bytes) { return bytes.total(); });
  for (const MemoryKind kind : kMemoryKinds) {
    std::string name(name_of(kind));
    std::ranges::replace(name, '_', ' ');
    add(std::move(name), [&](const MemoryBytes& bytes) { return bytes[kind]; });
  }
  section.body =
      figure(chart) + html_table(memory_sheet(r), {.caption = "Memory by kind"}) +
      html_table(layer_memory_sheet(r), {.caption = "Memory at the peak, by layer", .searchable = true});
  return section;
}

}  // namespace headroom

#include "cli/bench_ladder.h"

#include <set>

#include "base/text.h"
#include "report/ladder_ideas.h"
#include "report/ladder_sheet.h"

namespace headroom::cli {
namespace {

std::string sources_text(const LadderRun& run, std::span<const PublishedSource> sources) {
  std::set<char> letters;
  for (const PublishedRung& p : run.published)
    for (const RungResult& r : run.rungs)
      if (r.rung.name == p.rung && r.timed()) letters.insert(p.source);
  std::string text;
  for (const PublishedSource& source : sources)
    if (letters.contains(source.letter))
      text += fmt::format("Published, {}: {}\n", source.letter, source.text);
  return text;
}

}  // namespace

void add_ladder_tables(const LadderRun& run, DeviceKind device, const std::string& heading,
                       std::span<const PublishedSource> sources, bool explain, BenchOutput& output) {
  output.tables.push_back(
      {ladder_sheet(run, device),
       fmt::format("{}{}\n{}\n", output.tables.empty() ? "" : "\n", heading, ladder_title(run)),
       ladder_notes(run) + sources_text(run, sources) + (explain ? ladder_explanation(run) : std::string())});
  if (Sheet ideas = ladder_ideas(run); ideas.rows() > 1)
    output.tables.push_back({std::move(ideas), "\n", ""});
}

}  // namespace headroom::cli

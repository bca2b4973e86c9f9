#include "cli/bench_ladder.h"

#include <set>

#include "base/text.h"
#include "profile/gpu_counters.h"
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

void add_ladder_options(Command verb, LadderRequest& request, const std::string& example_of_rungs) {
  verb.option("--rung", request.rungs, fmt::format("only these rungs, as {}", example_of_rungs));
  verb.option("--seconds", request.seconds, "how long each rung is timed");
  verb.option("--counters", request.counters,
              "on GPUs: count each rung's work, in runs of its own; sets and counters as in profile");
}

LadderOptions ladder_options(const LadderRequest& request, const Ladder& ladder, const Common& common) {
  LadderOptions options{.policy = {.tf32 = common.tf32(), .bf16 = common.rounds_on_cpu()},
                        .seed = common.seed,
                        .seconds = request.seconds};
  for (const std::string& word : request.rungs)
    for (const std::string& name : split(word, ',')) options.only.push_back(name);
  require_rungs(ladder, options.only);
  if (!(request.seconds > 0 && request.seconds <= 3600))
    reject("--seconds is {}; it must be above 0, and at most 3600", request.seconds);
  if (request.counters == "list")
    reject(Hint{"headroom profile --device cuda --counters list"}, "profile lists the counters, not bench");
  if (!request.counters.empty()) options.counters = gpu_counters_named(request.counters);
  return options;
}

void add_ladder_tables(const LadderRun& run, DeviceKind device, const std::string& heading,
                       std::span<const PublishedSource> sources, bool explain, BenchOutput& output) {
  output.tables.push_back(
      {ladder_sheet(run, device),
       fmt::format("{}{}\n{}\n", output.tables.empty() ? "" : "\n", heading, ladder_title(run)),
       ladder_notes(run) + sources_text(run, sources) + (explain ? ladder_explanation(run) : std::string())});
  if (Sheet counters = ladder_counters_sheet(run); counters.rows() > 0)
    output.tables.push_back({std::move(counters), "\n", ""});
  if (Sheet ideas = ladder_ideas(run); ideas.rows() > 1)
    output.tables.push_back({std::move(ideas), "\n", ""});
}

}  // namespace headroom::cli

#include "cli/run_cases.h"

#include <array>

#include "base/json.h"
#include "base/sheet.h"
#include "train/model_cases.h"

namespace headroom::cli {
namespace {

constexpr std::array<const char*, 3> kEnds = {"passed", "failed", "skipped"};
const char* word_of(CaseEnd end) { return kEnds[static_cast<std::size_t>(end)]; }

}  // namespace

void run_cases(const std::string& folder, const Common& common, const Tolerance& tolerance) {
  const std::vector<ModelCase> cases = find_cases(folder);
  const auto device = common.open();
  std::array<std::int64_t, 3> counts{};
  std::vector<CaseResult> results;
  for (const ModelCase& c : cases) {
    results.push_back(run_case(c, *device, common.engine_options(), tolerance));
    ++counts[static_cast<std::size_t>(results.back().end)];
  }
  if (common.json) {
    Json list = Json::array();
    for (const CaseResult& r : results)
      list.push_back({{"case", r.name},
                      {"end", word_of(r.end)},
                      {"worst", r.worst},
                      {"reason", with_options(r.reason)}});
    print_json({{"passed", counts[0]}, {"failed", counts[1]}, {"skipped", counts[2]}, {"cases", list}});
  } else {
    Sheet sheet("cases", {{.key = "case", .title = "case"},
                          {.key = "end", .title = "end", .left = true},
                          {.key = "worst", .title = "largest error", .format = Column::Format::scientific},
                          {.key = "reason", .title = "reason", .left = true, .wrap = true}});
    for (const CaseResult& r : results)
      sheet.row({r.name, word_of(r.end), r.end == CaseEnd::skipped ? Cell() : Cell(r.worst),
                 with_options(r.reason)});
    print(sheet.text(common.tables.view()));
    print(fmt::format("\n{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]));
  }
  if (counts[1] > 0) fail("{} of {} cases failed", counts[1], results.size());
}

}  // namespace headroom::cli

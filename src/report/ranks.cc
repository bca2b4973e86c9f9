#include "report/ranks.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace headroom {
namespace {

struct RankColumn {
  const char* name;
  double RankTimes::*field;
};
constexpr RankColumn kTimes[] = {{"step ms", &RankTimes::step},
                                 {"compute ms", &RankTimes::compute},
                                 {"exchange ms", &RankTimes::exchange},
                                 {"hidden ms", &RankTimes::hidden},
                                 {"exposed ms", &RankTimes::exposed}};

struct Summary {
  double least = 0, mean = 0, most = 0;
};
Summary summary_of(const std::vector<RankTimes>& ranks, double RankTimes::*field) {
  Summary s{ranks[0].*field, 0, ranks[0].*field};
  for (const RankTimes& r : ranks) {
    s.least = std::min(s.least, r.*field), s.most = std::max(s.most, r.*field);
    s.mean += r.*field / double(ranks.size());
  }
  return s;
}

double hidden_share(const std::vector<RankTimes>& ranks) {
  double hidden = 0, all = 0;
  for (const RankTimes& r : ranks) hidden += r.hidden, all += r.exchange;
  return all > 0 ? hidden / all : 0;
}

std::string table_of(const RanksReport& report, const TableView& view) {
  std::vector<Column> columns = {{.key = "rank", .title = "rank"}};
  for (const RankColumn& c : kTimes)
    columns.push_back({.key = c.name, .title = c.name, .unit = "ms", .format = Column::Format::thousandths});
  columns.push_back({.key = "slowest", .title = "computed longest in", .left = true, .priority = 1});
  Sheet sheet("ranks", std::move(columns));
  for (std::size_t r = 0; r < report.ranks.size(); ++r) {
    std::vector<Cell> cells = {static_cast<std::int64_t>(r)};
    for (const RankColumn& c : kTimes) cells.emplace_back(report.ranks[r].*c.field * 1e3);
    cells.emplace_back(fmt::format("{:.0f} % of steps", 100 * report.ranks[r].slowest));
    sheet.row(std::move(cells));
  }
  for (const auto& [name, field] : {std::pair("min", &Summary::least), std::pair("mean", &Summary::mean),
                                    std::pair("max", &Summary::most)}) {
    std::vector<Cell> cells = {name};
    for (const RankColumn& c : kTimes) cells.emplace_back(summary_of(report.ranks, c.field).*field * 1e3);
    cells.emplace_back("");
    sheet.total(std::move(cells));
  }
  return sheet.text(view);
}

std::string timed_text(const RanksReport& report) {
  std::string text =
      fmt::format("counted    {} B a step by the communicators, {} B by the plan\n",
                  with_commas(std::llround(report.counted_bytes)), with_commas(report.planned_bytes));
  text += fmt::format(
      "exchange   {:.0f} % hidden behind computing; {}/s on the bus, 2 (p - 1) / p of the bytes\n",
      100 * hidden_share(report.ranks), human_bytes(report.bus_bytes_per_s));
  if (report.copy_seconds > 0)
    text += fmt::format("copies     {} between GPU and host, {:.0f} % hidden behind messages\n",
                        human_seconds(report.copy_seconds),
                        100 * std::max(0.0, 1 - report.copy_exposed / report.copy_seconds));
  return text;
}

}  // namespace

std::string describe(const Distribution& d) {
  if (d.model_parts == 1) return fmt::format("data parallel on {}", counted(d.data_parts, "rank"));
  if (d.data_parts == 1) return fmt::format("model parallel on {}", counted(d.model_parts, "rank"));
  return fmt::format("hybrid on {} ranks: {} parts of the batch, {} of the layers", d.ranks(), d.data_parts,
                     d.model_parts);
}

std::string ranks_text(const RanksReport& report, const TableView& view) {
  std::string text = fmt::format("\n{} over {}", describe(report.distribution), report.transport) +
                     (report.timed ? fmt::format(", mean of a training step:\n\n{}\n", table_of(report, view))
                                   : "; too few steps for timing, or each queued as one launch\n\n");
  for (const GroupTraffic& t : report.planned) {
    const std::int64_t own = t.bytes - t.report_bytes;
    text += fmt::format(
        "{:<10} {} B a step among {} in {}, and {} B to report; counting 2 b for a sum of b: {} B\n", t.group,
        with_commas(own), counted(t.ranks, "rank"), counted(t.calls, "exchange"), t.report_bytes,
        with_commas(t.two_way_bytes()));
  }
  if (report.timed) text += timed_text(report);
  if (report.distribution.shard_optimizer)
    text += fmt::format("optimizer  state is split over ranks: {} less on this one\n",
                        human_bytes(report.saved_bytes));
  return text + "\n";
}

Json to_json(const RanksReport& report) {
  Json ranks = Json::array(), planned = Json::array(), summary = Json::object();
  for (const RankTimes& r : report.ranks)
    ranks.push_back({{"step_ms", r.step * 1e3},
                     {"compute_ms", r.compute * 1e3},
                     {"exchange_ms", r.exchange * 1e3},
                     {"hidden_ms", r.hidden * 1e3},
                     {"exposed_ms", r.exposed * 1e3},
                     {"slowest_share", r.slowest},
                     {"stored_bytes", r.stored_bytes}});
  for (const GroupTraffic& t : report.planned)
    planned.push_back({{"group", t.group},
                       {"ranks", t.ranks},
                       {"bytes", t.bytes},
                       {"report_bytes", t.report_bytes},
                       {"exchanges", t.calls},
                       {"two_way_bytes", t.two_way_bytes()}});
  for (const RankColumn& c : kTimes) {
    const Summary s = summary_of(report.ranks, c.field);
    std::string name = c.name;
    std::ranges::replace(name, ' ', '_');
    summary[name] = {{"min", s.least * 1e3}, {"mean", s.mean * 1e3}, {"max", s.most * 1e3}};
  }
  const Distribution& d = report.distribution;
  return {{"count", d.ranks()},
          {"data_parts", d.data_parts},
          {"model_parts", d.model_parts},
          {"transport", report.transport},
          {"timed", report.timed},
          {"each", ranks},
          {"over_ranks", summary},
          {"planned", planned},
          {"planned_bytes", report.planned_bytes},
          {"counted_bytes", report.counted_bytes},
          {"hidden_share", hidden_share(report.ranks)},
          {"bus_bytes_per_s", report.bus_bytes_per_s},
          {"copy_seconds", report.copy_seconds},
          {"copy_exposed_seconds", report.copy_exposed},
          {"optimizer_bytes_saved", report.saved_bytes}};
}

}  // namespace headroom

#include "cli/bench_perceptron_report.h"

#include "base/json.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

Json to_json(const PerceptronRow& row) {
  Json errors = Json::object(), published = Json::array();
  for (const ArrayError& e : row.errors)
    errors[e.name] = {
        {"difference", e.difference}, {"relative", e.relative}, {"relative_inf", e.relative_rows}};
  for (const PublishedTraining& p : row.published()) {
    Json entry = {{"s", p.seconds}, {"source", std::string(1, p.source)}};
    if (p.serial_s > 0) entry["serial_s"] = p.serial_s;
    published.push_back(entry);
  }
  Json json = {{"case", row.of.name},
               {"suite", row.of.suite},
               {"model", row.setup.model},
               {"images", row.images},
               {"batch", row.setup.train.batch},
               {"epochs", row.setup.train.epochs},
               {"lr", row.setup.train.lr},
               {"l2", row.setup.update.l2},
               {"precision", row.precision},
               {"device", row.device},
               {"ranks", row.ranks},
               {"serial_s", row.serial.seconds},
               {"parallel_s", row.seconds.median},
               {"parallel", spread_json(row.seconds)},
               {"speed_up", row.serial.seconds / row.seconds.median},
               {"first_loss", row.trained.first_loss},
               {"loss", row.trained.loss},
               {"serial_loss", row.serial.loss},
               {"errors", errors},
               {"ranks_apart", row.trained.ranks_apart},
               {"criterion", name_of(row.of.norm)},
               {"held", row.verdict.held},
               {"verdict", row.word()},
               {"published", published}};
  if (row.tolerance()) json["tolerance"] = *row.tolerance();
  if (!row.verdict.why.empty()) json["why"] = row.verdict.why;
  if (row.of.tested) {
    json["accuracy"] = row.trained.accuracy;
    json["serial_accuracy"] = row.serial.accuracy;
  }
  for (const auto& [name, value] : row.setup.recipe->published) json["published_figures"][name] = value;
  return json;
}

std::string published_text(const PerceptronRow& row) {
  std::vector<std::string> parts;
  for (const PublishedTraining& p : row.published())
    parts.push_back(p.serial_s > 0 ? fmt::format("{:.4g} / {:.4g} {}", p.serial_s, p.seconds, p.source)
                                   : fmt::format("{:.4g} {}", p.seconds, p.source));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

PerceptronReport::PerceptronReport(int threads) : threads_(threads) {
  using enum Column::Format;
  sheet_ = Sheet("perceptron", {{.key = "case", .title = "case"},
                                {.key = "precision", .title = "precision", .left = true, .priority = 1},
                                {.key = "device", .title = "on", .left = true},
                                {.key = "ranks", .title = "ranks"},
                                {.key = "serial_s", .title = "serial s", .unit = "s"},
                                {.key = "parallel_s", .title = "parallel s", .unit = "s"},
                                {.key = "speed_up", .title = "faster", .format = hundredths},
                                {.key = "error_w1", .title = "W1", .format = scientific, .priority = 5},
                                {.key = "error_b1", .title = "b1", .format = scientific, .priority = 5},
                                {.key = "error_w2", .title = "W2", .format = scientific, .priority = 5},
                                {.key = "error_b2", .title = "b2", .format = scientific, .priority = 5},
                                {.key = "held", .title = "held", .format = scientific, .priority = 3},
                                {.key = "tolerance", .title = "at most", .format = scientific, .priority = 3},
                                {.key = "accuracy", .title = "accuracy", .format = plain, .priority = 2},
                                {.key = "verdict", .title = "verdict"},
                                {.key = "published_s", .title = "published s", .priority = 4}});
}

void PerceptronReport::add(const PerceptronRow& row) {
  rows_.push_back(to_json(row));
  failed_ = failed_ || (row.verdict.graded && !row.verdict.passed);
  std::vector<Cell> cells = {row.of.name,
                             row.precision,
                             row.device,
                             std::int64_t{row.ranks},
                             row.serial.seconds,
                             row.seconds.median,
                             row.serial.seconds / row.seconds.median};
  for (const ArrayError& e : row.errors) cells.emplace_back(e.relative);
  cells.emplace_back(row.verdict.held);
  cells.push_back(row.tolerance() ? Cell(*row.tolerance()) : Cell());
  cells.push_back(row.of.tested ? Cell(fmt::format("{:.6f}", row.trained.accuracy)) : Cell());
  cells.emplace_back(row.word());
  cells.emplace_back(published_text(row));
  for (const PublishedTraining& p : row.published()) sources_.insert(p.source);
  suites_.insert(fmt::format("{}: {}", row.of.suite, name_of(row.of.norm)));
  if (!row.verdict.why.empty())
    faults_ += fmt::format("FAIL  {} {} on {} {}: {}\n", row.of.name, row.precision, row.ranks, row.device,
                           row.verdict.why);
  if (!last_.empty() && last_ != row.of.name) sheet_.rule();
  last_ = row.of.name;
  sheet_.row(std::move(cells));
}

Json PerceptronReport::json() const {
  Json sources = Json::object();
  for (const PublishedSource& s : published_sources()) sources[std::string(1, s.letter)] = s.text;
  return {
      {"threads", threads_}, {"rows", rows_}, {"sources", sources}, {"verdict", failed_ ? "FAIL" : "pass"}};
}

BenchTable PerceptronReport::table() const {
  std::string notes = fmt::format(
      "\n{}Serial: one process on the CPU. It and every rank: {} thread{}. Seconds of training alone.\n"
      "W1 to b2: relative error against serial. Held: the largest error by the case's own norm:\n",
      faults_, threads_, threads_ == 1 ? "" : "s");
  for (const std::string& suite : suites_) notes += "  " + suite + "\n";
  if (!sources_.empty()) notes += "Published: seconds, after a slash where serial is known as well:\n";
  for (const PublishedSource& s : published_sources())
    if (sources_.contains(s.letter)) notes += fmt::format("  {}  {}\n", s.letter, s.text);
  return {sheet_, "", notes};
}

}  // namespace headroom::cli

#include "cli/bench_perceptron_report.h"

#include "cli/options.h"
#include "report/record.h"
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

void PerceptronReport::add(const PerceptronRow& row) {
  rows_.push_back(to_json(row));
  failed_ = failed_ || (row.verdict.graded && !row.verdict.passed);
  std::vector<std::string> cells = {row.of.name,
                                    row.precision,
                                    row.device,
                                    std::to_string(row.ranks),
                                    fixed_or_small(row.serial.seconds),
                                    fixed_or_small(row.seconds.median),
                                    fmt::format("{:.2f}", row.serial.seconds / row.seconds.median)};
  for (const ArrayError& e : row.errors) cells.push_back(fmt::format("{:.1e}", e.relative));
  cells.push_back(fmt::format("{:.1e}", row.verdict.held));
  cells.push_back(row.tolerance() ? fmt::format("{:.0e}", *row.tolerance()) : "");
  cells.push_back(row.of.tested ? fmt::format("{:.6f}", row.trained.accuracy) : "");
  cells.push_back(row.word());
  cells.push_back(published_text(row));
  for (const PublishedTraining& p : row.published()) sources_.insert(p.source);
  suites_.insert(fmt::format("{}: {}", row.of.suite, name_of(row.of.norm)));
  if (!row.verdict.why.empty())
    faults_ += fmt::format("FAIL  {} {} on {} {}: {}\n", row.of.name, row.precision, row.ranks, row.device,
                           row.verdict.why);
  if (!last_.empty() && last_ != row.of.name) table_.rule();
  last_ = row.of.name;
  table_.row(cells);
}

Json PerceptronReport::json() const {
  Json sources = Json::object();
  for (const PublishedSource& s : published_sources()) sources[std::string(1, s.letter)] = s.text;
  return {
      {"threads", threads_}, {"rows", rows_}, {"sources", sources}, {"verdict", failed_ ? "FAIL" : "pass"}};
}

void PerceptronReport::show() {
  table_.left(1), table_.left(2);
  print(table_.str() + "\n" + faults_);
  print(fmt::format(
      "Serial: one process on the CPU. It and every rank: {} thread{}. Seconds of training alone.\n"
      "W1 to b2: relative error against serial. Held: the largest error by the case's own norm:\n",
      threads_, threads_ == 1 ? "" : "s"));
  for (const std::string& suite : suites_) print("  " + suite + "\n");
  if (!sources_.empty()) print("Published: seconds, after a slash where serial is known as well:\n");
  for (const PublishedSource& s : published_sources())
    if (sources_.contains(s.letter)) print(fmt::format("  {}  {}\n", s.letter, s.text));
}

}  // namespace headroom::cli

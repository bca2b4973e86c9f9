#include "report/series.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

bool was_read(const Series& series) { return series.summary.readings > 0; }

double growth(const Series& series) { return series.summary.last - series.summary.first; }

std::vector<Cell> row_of(const Series& series) {
  const SeriesSummary& s = series.summary;
  const auto& [key, name, unit, limit, counter, per_core, charted] = series.info;
  if (counter) return {name, unit, {}, {}, {}, {}, growth(series)};
  return {name, unit, s.mean, s.min, s.max, s.last, {}};
}

Json number_or_null(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

}  // namespace

std::size_t per_core_rows(const Samples& samples) {
  return static_cast<std::size_t>(std::ranges::count_if(
      samples.series, [](const Series& series) { return series.info.per_core && was_read(series); }));
}

Sheet series_sheet(const Samples& samples, std::size_t max_per_core) {
  const bool cores = per_core_rows(samples) <= max_per_core;
  const bool counters = std::ranges::any_of(
      samples.series, [](const Series& series) { return series.info.counter && was_read(series); });
  Sheet sheet("series", {{.key = "series", .title = "series"},
                         {.key = "unit", .title = "unit", .left = true},
                         {.key = "mean", .title = "mean"},
                         {.key = "min", .title = "min", .priority = 2},
                         {.key = "max", .title = "max", .priority = 1},
                         {.key = "last", .title = "last", .priority = 3},
                         {.key = "total", .title = counters ? "total" : ""}});
  for (const Series& series : samples.series)
    if (was_read(series) && (cores || !series.info.per_core)) sheet.row(row_of(series));
  return sheet;
}

std::string series_csv(const Samples& samples) {
  std::vector<Column> columns = {{.key = "seconds", .title = "seconds"}};
  for (const Series& series : samples.series)
    if (was_read(series)) columns.push_back({.key = series.info.key, .title = series.info.name});
  Sheet sheet("samples", std::move(columns));
  for (std::size_t i = 0; i < samples.seconds.size(); ++i) {
    std::vector<Cell> row = {samples.seconds[i]};
    for (const Series& series : samples.series)
      if (was_read(series)) row.push_back(std::isnan(series.values[i]) ? Cell() : Cell(series.values[i]));
    sheet.row(std::move(row));
  }
  return sheet.csv();
}

Json to_json(const Samples& samples) {
  Json list = Json::array();
  for (const Series& series : samples.series) {
    if (!was_read(series)) continue;
    const SeriesSummary& s = series.summary;
    Json item = {{"key", series.info.key}, {"name", series.info.name}, {"unit", series.info.unit}};
    if (series.info.limit > 0) item["limit"] = series.info.limit;
    if (series.info.charted) item["charted"] = true;
    if (series.info.counter)
      item["total"] = growth(series);
    else
      item.update({{"mean", s.mean}, {"min", s.min}, {"max", s.max}, {"last", s.last}});
    item["readings"] = s.readings;
    item["values"] = Json::array();
    for (const double value : series.values) item["values"].push_back(number_or_null(value));
    list.push_back(std::move(item));
  }
  return {{"sample_ms", samples.interval_s * 1e3},
          {"samples", samples.taken},
          {"sampling_s", samples.cost_s},
          {"absent", samples.absent},
          {"seconds", samples.seconds},
          {"series", list}};
}

namespace {

Series series_from_json(const Json& json, std::size_t samples) {
  Series series;
  series.info = {.key = json.at("key"),
                 .name = json.at("name"),
                 .unit = json.at("unit"),
                 .limit = json.value("limit", 0.0),
                 .counter = json.contains("total"),
                 .charted = json.value("charted", false)};
  series.summary.readings = json.at("readings");
  if (series.info.counter) {
    series.summary.last = json.at("total");
  } else {
    series.summary.mean = json.at("mean"), series.summary.last = json.at("last");
    series.summary.min = json.at("min"), series.summary.max = json.at("max");
  }
  for (const Json& value : json.at("values"))
    series.values.push_back(value.is_null() ? kNotRead : value.get<double>());
  if (series.values.size() != samples)
    reject("series {} has {} values at {} times", series.info.key, series.values.size(), samples);
  return series;
}

}  // namespace

Samples samples_from_json(const Json& json, const std::string& origin) {
  try {
    Samples samples;
    samples.seconds = json.at("seconds").get<std::vector<double>>();
    samples.taken = json.at("samples");
    samples.interval_s = json.at("sample_ms").get<double>() / 1e3, samples.cost_s = json.at("sampling_s");
    samples.absent = json.at("absent").get<std::vector<std::string>>();
    for (const Json& series : json.at("series"))
      samples.series.push_back(series_from_json(series, samples.seconds.size()));
    return samples;
  } catch (const nlohmann::json::exception& error) {
    reject("{}: samples: {}", origin, error.what());
  } catch (const Error& error) {
    reject("{}: samples: {}", origin, error.what());
  }
}

}  // namespace headroom

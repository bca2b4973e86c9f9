#include "bench/convnets.h"

#include "base/json.h"
#include "base/text.h"
#include "bench/published_convnets.h"
#include "cli/bench.h"
#include "cli/bench_predicted.h"
#include "cli/options.h"
#include "report/record.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

std::string ms(double seconds) { return fixed_or_small(seconds * 1e3); }

bool is_layer(const ConvnetTiming& t) { return t.step_s.samples == 0; }

Json published_json(const std::string& model) {
  Json list = Json::array();
  for (const PublishedTime& p : published_times())
    if (p.model == model)
      list.push_back({{"library", p.library},
                      {"forward_ms", p.forward_ms},
                      {"backward_ms", p.backward_ms},
                      {"total_ms", p.total_ms}});
  return list;
}

Json to_json(const ConvnetTiming& t) {
  Json json = {{"name", t.name},
               {"batch", t.batch},
               {"separate_loops",
                {{"forward_ms", t.forward_s.median * 1e3},
                 {"input_gradient_ms", t.input_gradient_s.median * 1e3},
                 {"weight_gradient_ms", t.weight_gradient_s.median * 1e3},
                 {"backward_ms", t.backward_s() * 1e3},
                 {"total_ms", t.total_s() * 1e3},
                 {"images_per_s", double(t.batch) / t.total_s()},
                 {"tflops_per_s", t.flop / t.total_s() / 1e12},
                 {"percent_of_roofline", 100 * t.floor_s / t.total_s()},
                 {"forward", spread_json(t.forward_s)},
                 {"input_gradient", spread_json(t.input_gradient_s)},
                 {"weight_gradient", spread_json(t.weight_gradient_s)}}},
               {"published", published_json(t.name)}};
  if (is_layer(t)) return json;
  json["parameters"] = t.parameters;
  json["whole_steps"] = {{"forward_ms", t.step_forward_s.median * 1e3},
                         {"backward_ms", t.step_backward_s.median * 1e3},
                         {"step_ms", t.step_s.median * 1e3},
                         {"images_per_s", double(t.batch) / t.step_s.median},
                         {"tflops_per_s", t.step_flop / t.step_s.median / 1e12},
                         {"percent_of_roofline", 100 * t.step_floor_s / t.step_s.median},
                         {"step", spread_json(t.step_s)}};
  add_predicted(json["whole_steps"], "step_", predicted_run(t.prediction), t.step_s.median);
  for (std::size_t s = 0; s < t.plan.steps.size(); ++s)
    json["steps"].push_back({{"problem", t.plan.steps[s].problem.str()},
                             {"kernel", t.plan.steps[s].full_name()},
                             {"phase", name_of(t.plan.steps[s].phase)},
                             {"ms", t.measurement.median_s(s) * 1e3},
                             {"predicted_ms", t.prediction.steps[s].predicted_s * 1e3},
                             {"floor_ms", t.prediction.steps[s].floor_s * 1e3}});
  json["peak_bytes"] = t.peak_bytes;
  json["code"] = {{"layers", t.features.layers},
                  {"lines", t.features.lines},
                  {"steps", t.features.steps},
                  {"launches", t.features.launches},
                  {"kernels", t.features.kernels}};
  return json;
}

Cell published(const std::string& model, std::string_view library) {
  for (const PublishedTime& p : published_times())
    if (p.model == model && p.library == library)
      return fmt::format("{:.0f} ({:.0f}, {:.0f})", p.total_ms, p.forward_ms, p.backward_ms);
  return {};
}

Cell published_code_of(const std::string& model, std::string_view library) {
  for (const PublishedCode& p : published_code())
    if (p.model == model && p.library == library) return fmt::format("{} / {}", p.lines, p.routines);
  return {};
}

Sheet separate_loops(const std::vector<ConvnetTiming>& timings) {
  using enum Column::Format;
  Sheet sheet(
      "separate loops",
      {{.key = "name", .title = "separate loops"},
       {.key = "batch", .title = "batch"},
       {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
       {.key = "backward_ms", .title = "backward ms", .unit = "ms"},
       {.key = "total_ms", .title = "total ms", .unit = "ms"},
       {.key = "images_per_s", .title = "images/s", .format = commas, .priority = 2},
       {.key = "tflops_per_s", .title = "TFLOP/s", .unit = "TFLOP/s", .priority = 3},
       {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths, .priority = 1},
       {.key = "titan_x_cudnn_r4", .title = "Titan X cuDNN R4", .priority = 4},
       {.key = "titan_x_neon", .title = "Titan X neon", .priority = 5}});
  for (const ConvnetTiming& t : timings)
    sheet.row({t.name, std::int64_t{t.batch}, t.forward_s.median * 1e3, t.backward_s() * 1e3,
               t.total_s() * 1e3, double(t.batch) / t.total_s(), t.flop / t.total_s() / 1e12,
               100 * t.floor_s / t.total_s(), published(t.name, "cuDNN R4 fp32"),
               published(t.name, "neon fp32")});
  return sheet;
}

Sheet whole_steps(const std::vector<ConvnetTiming>& timings) {
  using enum Column::Format;
  std::vector<Column> columns = {
      {.key = "name", .title = "whole steps"},
      {.key = "batch", .title = "batch"},
      {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
      {.key = "backward_ms", .title = "backward ms", .unit = "ms"},
      {.key = "step_ms", .title = "step ms", .unit = "ms"},
      {.key = "step_p10_to_p90", .title = "10 to 90 %", .priority = 4},
      {.key = "images_per_s", .title = "images/s", .format = commas, .priority = 2},
      {.key = "tflops_per_s", .title = "TFLOP/s", .unit = "TFLOP/s", .priority = 3},
      {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths, .priority = 1},
      {.key = "peak_bytes", .title = "peak memory", .unit = "B", .format = bytes, .priority = 5}};
  append(columns, predicted_columns("step_"));
  Sheet sheet("whole steps", columns);
  for (const ConvnetTiming& t : timings) {
    if (is_layer(t)) continue;
    std::vector<Cell> cells = {t.name,
                               std::int64_t{t.batch},
                               t.step_forward_s.median * 1e3,
                               t.step_backward_s.median * 1e3,
                               t.step_s.median * 1e3,
                               fmt::format("{} to {}", ms(t.step_s.p10), ms(t.step_s.p90)),
                               double(t.batch) / t.step_s.median,
                               t.step_flop / t.step_s.median / 1e12,
                               100 * t.step_floor_s / t.step_s.median,
                               t.peak_bytes};
    append(cells, predicted_cells(predicted_run(t.prediction), t.step_s.median));
    sheet.row(cells);
  }
  return sheet;
}

Sheet code_features(const std::vector<ConvnetTiming>& timings) {
  Sheet sheet("code", {{.key = "name", .title = "code"},
                       {.key = "layers", .title = "layers"},
                       {.key = "net_json_lines", .title = "lines of net.json", .priority = 3},
                       {.key = "steps", .title = "steps"},
                       {.key = "launches", .title = "launches"},
                       {.key = "kernels", .title = "different kernels", .priority = 2},
                       {.key = "neon", .title = "neon lines / routines", .priority = 1},
                       {.key = "torch", .title = "Torch lines / routines", .priority = 1}});
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  for (const ConvnetTiming& t : timings)
    if (!is_layer(t))
      sheet.row({t.name, count(t.features.layers), count(t.features.lines), count(t.features.steps),
                 count(t.features.launches), count(t.features.kernels), published_code_of(t.name, "neon"),
                 published_code_of(t.name, "Torch")});
  return sheet;
}

}  // namespace

Json convnets_json(const std::vector<ConvnetTiming>& timings) {
  Json list = Json::array();
  for (const ConvnetTiming& t : timings) list.push_back(to_json(t));
  return {{"convnets", list}};
}

std::vector<Sheet> empty_convnet_sheets(bool whole_nets) {
  std::vector<Sheet> sheets = {separate_loops({})};
  if (whole_nets) append(sheets, {whole_steps({}), code_features({})});
  return sheets;
}

std::vector<BenchTable> convnets_tables(const std::vector<ConvnetTiming>& timings, const Machine& machine,
                                        const std::string& precision) {
  std::vector<Sampled> medians;
  for (const ConvnetTiming& t : timings)
    medians.insert(medians.end(), {t.forward_s, t.input_gradient_s, t.weight_gradient_s, t.step_s});
  std::vector<BenchTable> tables = {
      {separate_loops(timings), fmt::format("\nConvnet benchmarks in {} on {}\n\n", precision, machine.title),
       sampling_note(medians) +
           "\nLoops over forward pass, gradients of inputs, gradients of weights; the output is its own "
           "gradient, no loss.\nBackward: both gradients. Published: total (forward, backward) of a batch, "
           "fp32, Titan X of 2015.\n\n"}};
  if (std::all_of(timings.begin(), timings.end(), is_layer)) return tables;
  tables.push_back(
      {whole_steps(timings), "",
       "\nForward with the loss, backward with the update, SGD with momentum. Memory: what a step "
       "holds on the device.\n\n"});
  tables.push_back(
      {code_features(timings), "",
       "\nOf a training step; a line of net.json is a layer. Published: lines and routines seen, "
       "of a profile.\n"});
  return tables;
}

}  // namespace headroom::cli

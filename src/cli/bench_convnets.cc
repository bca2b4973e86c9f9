#include "bench/convnets.h"

#include "base/table.h"
#include "base/text.h"
#include "bench/published_convnets.h"
#include "cli/bench.h"
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
  for (const StepTime& step : t.steps)
    json["steps"].push_back({{"problem", step.problem},
                             {"kernel", step.kernel},
                             {"phase", name_of(step.phase)},
                             {"ms", step.median_s * 1e3},
                             {"floor_ms", step.floor_s * 1e3}});
  json["peak_bytes"] = t.peak_bytes;
  json["code"] = {{"layers", t.features.layers},
                  {"lines", t.features.lines},
                  {"steps", t.features.steps},
                  {"launches", t.features.launches},
                  {"kernels", t.features.kernels}};
  return json;
}

std::string published(const std::string& model, std::string_view library) {
  for (const PublishedTime& p : published_times())
    if (p.model == model && p.library == library)
      return fmt::format("{:.0f} ({:.0f}, {:.0f})", p.total_ms, p.forward_ms, p.backward_ms);
  return "-";
}

std::string published_code_of(const std::string& model, std::string_view library) {
  for (const PublishedCode& p : published_code())
    if (p.model == model && p.library == library) return fmt::format("{} / {}", p.lines, p.routines);
  return "-";
}

std::string separate_loops(const std::vector<ConvnetTiming>& timings) {
  Table table({"separate loops", "batch", "forward ms", "backward ms", "total ms", "images/s", "TFLOP/s",
               "% of roofline", "Titan X cuDNN R4", "Titan X neon"});
  for (const ConvnetTiming& t : timings)
    table.row({t.name, std::to_string(t.batch), ms(t.forward_s.median), ms(t.backward_s()), ms(t.total_s()),
               with_commas(std::llround(double(t.batch) / t.total_s())),
               fixed_or_small(t.flop / t.total_s() / 1e12),
               fmt::format("{:.1f}", 100 * t.floor_s / t.total_s()), published(t.name, "cuDNN R4 fp32"),
               published(t.name, "neon fp32")});
  return table.str();
}

std::string whole_steps(const std::vector<ConvnetTiming>& timings) {
  Table table({"whole steps", "batch", "forward ms", "backward ms", "step ms", "10 to 90 %", "images/s",
               "TFLOP/s", "% of roofline", "peak memory"});
  for (const ConvnetTiming& t : timings)
    if (!is_layer(t))
      table.row({t.name, std::to_string(t.batch), ms(t.step_forward_s.median), ms(t.step_backward_s.median),
                 ms(t.step_s.median), fmt::format("{} to {}", ms(t.step_s.p10), ms(t.step_s.p90)),
                 with_commas(std::llround(double(t.batch) / t.step_s.median)),
                 fixed_or_small(t.step_flop / t.step_s.median / 1e12),
                 fmt::format("{:.1f}", 100 * t.step_floor_s / t.step_s.median), human_bytes(t.peak_bytes)});
  return table.str();
}

std::string code_features(const std::vector<ConvnetTiming>& timings) {
  Table table({"code", "layers", "lines of net.json", "steps", "launches", "different kernels",
               "neon lines / routines", "Torch lines / routines"});
  for (const ConvnetTiming& t : timings)
    if (!is_layer(t))
      table.row({t.name, std::to_string(t.features.layers), std::to_string(t.features.lines),
                 std::to_string(t.features.steps), std::to_string(t.features.launches),
                 std::to_string(t.features.kernels), published_code_of(t.name, "neon"),
                 published_code_of(t.name, "Torch")});
  return table.str();
}

}  // namespace

Json convnets_json(const std::vector<ConvnetTiming>& timings) {
  Json list = Json::array();
  for (const ConvnetTiming& t : timings) list.push_back(to_json(t));
  return {{"convnets", list}};
}

void print_convnets(const std::vector<ConvnetTiming>& timings, const Machine& machine,
                    const std::string& precision) {
  std::vector<Sampled> medians;
  for (const ConvnetTiming& t : timings)
    medians.insert(medians.end(), {t.forward_s, t.input_gradient_s, t.weight_gradient_s, t.step_s});
  print(fmt::format("\nConvnet benchmarks in {} on {}\n\n", precision, machine.title));
  print(separate_loops(timings));
  print(sampling_note(medians));
  print(
      "\nLoops over forward pass, gradients of inputs, gradients of weights; the output is its own gradient, "
      "no "
      "loss.\nBackward: both gradients. Published: total (forward, backward) of a batch, fp32, Titan X of "
      "2015.\n\n");
  if (std::all_of(timings.begin(), timings.end(), is_layer)) return;
  print(whole_steps(timings));
  print(
      "\nForward with the loss, backward with the update, SGD with momentum. Memory: what a step holds on "
      "the "
      "device.\n\n");
  print(code_features(timings));
  print(
      "\nOf a training step; a line of net.json is a layer. Published: lines and routines seen, of a "
      "profile.\n");
}

}  // namespace headroom::cli

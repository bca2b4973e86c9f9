#include "cli/compare_kernels_report.h"

#include "base/json.h"
#include "base/units.h"
#include "bench/published_ece408.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

constexpr double kMegabyte = 1e6;

double cpu_percent(const EndedProcess& p) {
  return p.wall_s > 0 ? 100 * (p.user_s + p.system_s) / p.wall_s : 0;
}
Cell accuracy_cell(const ConvolutionPass& pass) { return pass.accuracy < 0 ? Cell() : Cell(pass.accuracy); }

BenchTable op_times_table(const ComparedKernels& compared) {
  using enum Column::Format;
  Sheet sheet("op_times",
              {{.key = "images", .title = "images", .format = commas},
               {.key = "batch", .title = "batch", .format = commas, .priority = 3},
               {.key = "layer", .title = "layer", .left = true},
               {.key = "library_kernel", .title = "library", .left = true, .priority = 1},
               {.key = "library_ms", .title = "op ms", .unit = "ms"},
               {.key = "library_gflops_per_s", .title = "GFLOP/s", .format = tenths, .priority = 2},
               {.key = "own_kernel", .title = "our own", .left = true, .priority = 1},
               {.key = "own_ms", .title = "op ms", .unit = "ms"},
               {.key = "own_gflops_per_s", .title = "GFLOP/s", .format = tenths, .priority = 2},
               {.key = "times_as_fast", .title = "times as fast", .format = hundredths}});
  std::vector<Sampled> medians;
  for (const ComparedSize& size : compared.sizes) {
    if (sheet.rows() > 0) sheet.rule();
    const ConvolutionPass &library = size.passes[0], &own = size.passes[1];
    for (std::size_t i = 0; i < library.layers.size(); ++i) {
      const TimedConvolution &a = library.layers[i], &b = own.layers[i];
      sheet.row({size.images, size.batch, a.layer, a.kernel, a.seconds.median * 1e3,
                 a.flops / a.seconds.median / 1e9, b.kernel, b.seconds.median * 1e3,
                 b.flops / b.seconds.median / 1e9, a.seconds.median / b.seconds.median});
    }
    sheet.row({size.images, size.batch, "sum", Cell(), library.sum.median * 1e3, Cell(), Cell(),
               own.sum.median * 1e3, Cell(), library.sum.median / own.sum.median});
    medians.insert(medians.end(), {library.sum, own.sum});
  }
  return {sheet,
          fmt::format("{} on {}, {}, {}:\n\n", compared.model, compared.data, compared.precision,
                      compared.device),
          "\nOp time: the device's time of a convolution with all it does, its activation included where the "
          "kernel has it,\n"
          "over all images. Medians of whole passes.\n" +
              sampling_note(medians)};
}

BenchTable programs_table(const ComparedKernels& compared) {
  using enum Column::Format;
  Sheet sheet("programs", {{.key = "images", .title = "images", .format = commas},
                           {.key = "convolution", .title = "convolution", .left = true},
                           {.key = "accuracy", .title = "accuracy", .format = ten_thousandths},
                           {.key = "user_s", .title = "user s", .unit = "s", .format = hundredths},
                           {.key = "system_s", .title = "system s", .unit = "s", .format = hundredths},
                           {.key = "elapsed_s", .title = "elapsed s", .unit = "s", .format = hundredths},
                           {.key = "cpu_percent", .title = "CPU %", .unit = "%", .format = tenths},
                           {.key = "minor_faults", .title = "minor faults", .format = commas, .priority = 1},
                           {.key = "major_faults", .title = "major faults", .format = commas, .priority = 1},
                           {.key = "peak_mb", .title = "peak MB", .unit = "MB", .format = tenths}});
  for (const ComparedSize& size : compared.sizes)
    for (std::size_t k = 0; k < size.programs.size(); ++k) {
      const EndedProcess& p = size.programs[k];
      sheet.row({size.images, kConvolutionKinds[k], accuracy_cell(size.passes[k]), p.user_s, p.system_s,
                 p.wall_s, cpu_percent(p), p.minor_faults, p.major_faults,
                 known(double(p.peak_rss_bytes) / kMegabyte)});
    }
  return {sheet, "\n",
          "\nTimes, faults and memory are those of a whole headroom eval, from start to end, with --kernel "
          "conv2d=library\n"
          "or conv2d=own. One run each.\n"};
}

std::vector<PublishedEce408> published_rows(const ComparedKernels& compared) {
  std::vector<PublishedEce408> rows;
  const std::string term = ece408_term(compared.model);
  if (compared.data != "fashion-mnist") return rows;
  for (const ComparedSize& size : compared.sizes)
    for (const PublishedEce408& row : published_ece408(term, size.images)) rows.push_back(row);
  return rows;
}

BenchTable published_table(const std::vector<PublishedEce408>& rows) {
  using enum Column::Format;
  Sheet sheet("published", {{.key = "images", .title = "images", .format = commas},
                            {.key = "published", .title = "published", .left = true},
                            {.key = "device", .title = "on", .left = true},
                            {.key = "convolution", .title = "convolution", .left = true},
                            {.key = "conv1_ms", .title = "conv1 ms", .unit = "ms"},
                            {.key = "conv2_ms", .title = "conv2 ms", .unit = "ms"},
                            {.key = "sum_ms", .title = "sum ms", .unit = "ms"},
                            {.key = "accuracy", .title = "accuracy", .format = ten_thousandths},
                            {.key = "program_s", .title = "elapsed s", .unit = "s", .format = hundredths}});
  for (const PublishedEce408& row : rows)
    sheet.row({row.images, std::string(row.who), row.device.empty() ? Cell() : std::string(row.device),
               std::string(row.convolution), known(row.conv1_ms), known(row.conv2_ms), known(row.sum_ms),
               known(row.accuracy), known(row.program_s)});
  return {sheet, "\n",
          "\nThe same network and number of images, on the machines of its time. Accuracies are those of the "
          "course's\n"
          "weights.\n"};
}

Json program_json(const EndedProcess& p) {
  Json json = {{"user_s", p.user_s},
               {"system_s", p.system_s},
               {"elapsed_s", p.wall_s},
               {"cpu_percent", cpu_percent(p)},
               {"minor_faults", p.minor_faults},
               {"major_faults", p.major_faults}};
  if (p.peak_rss_bytes > 0) json["peak_rss_bytes"] = p.peak_rss_bytes;
  return json;
}

Json pass_json(const ConvolutionPass& pass, const EndedProcess& program) {
  Json layers = Json::array();
  for (const TimedConvolution& c : pass.layers)
    layers.push_back({{"layer", c.layer},
                      {"kernel", c.kernel},
                      {"op_ms", spread_json(c.seconds)},
                      {"gflops_per_s", c.flops / c.seconds.median / 1e9}});
  Json json = {{"layers", layers}, {"sum_ms", spread_json(pass.sum)}, {"program", program_json(program)}};
  if (pass.accuracy >= 0) json["accuracy"] = pass.accuracy;
  return json;
}

Json published_json(const std::vector<PublishedEce408>& rows) {
  Json list = Json::array();
  for (const PublishedEce408& row : rows) {
    list.push_back({{"images", row.images}, {"who", row.who}, {"convolution", row.convolution}});
    if (!row.device.empty()) list.back()["device"] = row.device;
    const std::pair<const char*, double> numbers[] = {{"conv1_ms", row.conv1_ms},
                                                      {"conv2_ms", row.conv2_ms},
                                                      {"sum_ms", row.sum_ms},
                                                      {"accuracy", row.accuracy},
                                                      {"elapsed_s", row.program_s}};
    for (const auto& [key, number] : numbers)
      if (number > 0) list.back()[key] = number;
  }
  return list;
}

}  // namespace

BenchOutput compared_output(const ComparedKernels& compared) {
  Json sizes = Json::array();
  for (const ComparedSize& size : compared.sizes) {
    sizes.push_back({{"images", size.images}, {"batch", size.batch}});
    for (std::size_t k = 0; k < size.passes.size(); ++k)
      sizes.back()[kConvolutionKinds[k]] = pass_json(size.passes[k], size.programs[k]);
  }
  const std::vector<PublishedEce408> published = published_rows(compared);
  BenchOutput output{"eval",
                     {op_times_table(compared), programs_table(compared)},
                     {{"model", compared.model},
                      {"data", compared.data},
                      {"device", compared.device},
                      {"precision", compared.precision},
                      {"threads", compared.threads},
                      {"sizes", sizes},
                      {"published", published_json(published)}}};
  if (!published.empty()) output.tables.push_back(published_table(published));
  return output;
}

}  // namespace headroom::cli

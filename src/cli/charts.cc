#include "cli/charts.h"

#include <filesystem>

#include "base/file.h"
#include "cli/options.h"

namespace headroom::cli {

std::filesystem::path chart_path(const std::filesystem::path& file, const std::string& name) {
  if (name.empty()) return file;
  const bool named_svg = file.extension() == ".svg";
  const std::string stem = named_svg ? file.stem().string() : file.filename().string();
  return file.parent_path() / (stem + "-" + name + ".svg");
}

void add_svg_option(Command verb, std::string& file) {
  verb.option("--svg", file, "write charts to this file; of several, x.svg becomes x-NAME.svg");
}

void require_svg(const std::string& file, const std::vector<std::string>& names) {
  if (file.empty()) return;
  for (const std::string& name : names) require_writable(chart_path(file, name));
}

void write_svg(const std::string& file, const std::vector<ChartFile>& charts) {
  if (file.empty()) return;
  for (const ChartFile& chart : charts) {
    const std::filesystem::path path = chart_path(file, chart.name);
    write_file(path, chart.svg);
    note("wrote " + path.string() + "\n");
  }
}

}  // namespace headroom::cli

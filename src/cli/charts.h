#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace headroom::cli {

// --svg FILE. A verb with several charts writes one file each: x.svg becomes x-NAME.svg.
void add_svg_option(Command verb, std::string& file);

struct ChartFile {
  std::string name;  // empty: the only chart of its verb
  std::string svg;
};
std::filesystem::path chart_path(const std::filesystem::path& file, const std::string& name);
// Before the work begins: rejects files that cannot be written. `names` as those of the charts.
void require_svg(const std::string& file, const std::vector<std::string>& names = {""});
void write_svg(const std::string& file, const std::vector<ChartFile>& charts);  // no effect without a file

}  // namespace headroom::cli

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/sheet.h"
#include "page/section.h"
#include "report/chart.h"

namespace headroom {

std::string html_text(std::string_view text);  // escaped, for text and attributes

// The same for messages of the library, which name a setting as `batch`: an option of the program.
std::string html_message(std::string_view text);

// JSON inside a script element: nothing in it can end the element.
std::string json_script(const Json& json, std::string_view attributes);

struct HtmlTable {
  std::string caption = {};            // for people and screen readers
  std::vector<std::string> bars = {};  // keys of columns whose cells show their share of the largest value
  bool searchable = false;
};
// The columns that the printed table has, in full. Its heads are buttons that sort it.
std::string html_table(const Sheet& sheet, const HtmlTable& options = {});

std::string html_facts(const std::vector<SummaryFact>& facts);

// A chart as a picture; the numbers beside it let a script draw it again, to zoom in.
std::string figure(const BarChart& chart);
std::string figure(const LineChart& chart);
std::string figure(const BlockChart& chart);
std::string figure(const ScatterChart& chart);

}  // namespace headroom

#pragma once

#include <string>
#include <vector>

#include "page/section.h"

namespace headroom {

// One self-contained HTML page about runs: no file beside it, no network. Sections whose data a run lacks are
// left out. With d3 in the build its charts can be zoomed; without, they are plain pictures.
std::string html_page(const std::vector<PageRun>& runs);

// The records in such a page, as they were. Rejects a file that is no page of this program.
std::vector<Json> records_in_page(const std::string& html, const std::string& origin);

// A page that is served while a training runs. `follows`: it reads the events `update`, an object of HTML by
// the ids of sections, and `done`.
std::string live_page(const std::string& title, const std::vector<PageSection>& sections, bool follows);

}  // namespace headroom

#pragma once

#include <string>
#include <vector>

#include "report/profile.h"

namespace headroom {

// A run as the page shows it. Its name: a file or a folder.
struct PageRun {
  std::string name;
  RunProfile run;
};

// One figure of a run, in words: "images/s", "12,300", "of 60,000 images".
struct SummaryFact {
  std::string name, value;
  std::string note = {};
  std::string id = {};  // of the value's element, for scripts
};
std::vector<SummaryFact> summary_of(const RunRecord& record);  // what the page and the terminal begin with

struct PageSection {
  std::string id, title;
  std::string body = {};  // HTML; empty: the run lacks what it would show
};

// One function per section. Those that show the same data share a file.
PageSection summary_section(const PageRun& run);
PageSection curves_section(const PageRun& run);
PageSection step_section(const PageRun& run);         // T1
PageSection layers_section(const PageRun& run);       // every layer, with bars
PageSection roofline_section(const PageRun& run);     // a point per layer
PageSection timeline_section(const PageRun& run);     // streams and threads over one step
PageSection ranges_section(const PageRun& run);       // nested ranges of the host
PageSection prediction_section(const PageRun& run);   // predicted beside measured
PageSection memory_section(const PageRun& run);       // over the steps of the plan
PageSection utilisation_section(const PageRun& run);  // of the machine
PageSection ranks_section(const PageRun& run);
PageSection tables_section(const PageRun& run);  // of a benchmark
PageSection origin_section(const PageRun& run);  // machine, command, versions

// Two runs: their times with noise and verdicts; more: a row each.
PageSection comparison_section(const std::vector<PageRun>& runs);

}  // namespace headroom

#pragma once

// Settings that take several values in `sweep` and `tta`: --lr 0.01,0.1.

#include <string>
#include <vector>

#include "cli/run_setup.h"
#include "train/grid.h"

namespace headroom::cli {

class Axes {
 public:
  Axes();
  // Lets these options of the verb take lists. They must be there already.
  void add_options(Command verb);

  std::vector<GridAxis> given() const;  // by the user, in our order; rejects empty and repeated values
  std::vector<std::string> option_names() const;

 private:
  std::vector<std::string> lists_;  // as typed, one per kind
};

// The request of one row. Rejects values that are not numbers where numbers are needed.
void apply(const GridRow& row, RunRequest& request, Common& common);
std::vector<std::string> words_of(const GridRow& row);  // {"--lr", "0.1", "--no-pinned"}

// Names of the axes with more than one value.
std::vector<std::string> varied(const std::vector<GridAxis>& axes);
// The row as text, with these axes alone; "all" if there are none.
std::string label_of(const GridRow& row, const std::vector<std::string>& names);

}  // namespace headroom::cli

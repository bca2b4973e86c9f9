#pragma once

#include <string>
#include <vector>

#include "timing/kernel_form.h"
#include "timing/timing_table.h"

namespace headroom {

// The form whose columns the table has; of several, the one that uses most of them.
const KernelForm& form_of(const TimingTable& table);

// The rows as one form reads them. A size that is not a number of at least 1 and, if `need_times`, a time
// that is not above 0 are rejected with their line.
std::vector<TimingRow> rows_of(const TimingTable& table, const KernelForm& form, bool need_times);

}  // namespace headroom

#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "timing/kernel_form.h"
#include "timing/timing_table.h"

namespace headroom {

// The form whose columns the table has; of several, the one that uses most of them.
const KernelForm& form_of(const TimingTable& table);

// The rows as one form reads them. A size that is not a whole number of at least 1 (0 where the column may be
// absent and means 0 then) and, if `need_times`, a time that is not above 0 are rejected with their line.
// `group`: that of all rows, as the user gave it; a row of another group is rejected. Empty: each row's own.
std::vector<TimingRow> rows_of(const TimingTable& table, const KernelForm& form, bool need_times,
                               const std::string& group = "");

// The same error with the file and the line of the row before its message.
Error at_line(const Error& error, const TimingTable& table, const TimingRow& row);

}  // namespace headroom

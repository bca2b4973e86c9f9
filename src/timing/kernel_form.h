#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace headroom {

// One number of a form that a fit finds. low == high: fixed.
struct Constant {
  std::string name;  // "start_us"
  double start = 1, low = 0, high = 0;
  std::string about;
  bool of_host = false;  // devices that share the others have values of their own
};

// One call of a library kernel; `sizes` are in the order of KernelForm::sizes().
struct TimingRow {
  std::size_t line = 0;  // in its file
  std::string device, group, kernel_name;
  std::vector<double> sizes;
  double us = 0;  // measured; 0: not measured
};

// Facts about a device's library that no constant expresses: which tiles it uses. Learnt from calibration
// rows, by name.
using Traits = std::map<std::string, std::vector<std::string>>;

struct Explanation {
  std::string choice;  // "tile 128x128, split 4"
  double blocks = 0, waves = 0;
  std::string bound;  // compute, load, memory, latency, launch, link
};

// One row on one machine: every candidate that the library may run, with all that does not depend on
// constants computed ahead. The predicted time is that of the fastest candidate.
class PreparedRow {
 public:
  virtual ~PreparedRow() = default;
  virtual std::size_t candidates() const = 0;  // at least 1
  virtual double seconds(std::size_t candidate, std::span<const double> constants) const = 0;
  virtual double floor() const = 0;  // seconds; no program needs less on this machine
  // Seconds if the call before left all operands in the cache. No data sheet tells whether it did, so the
  // interval of a device never measured reaches down to this.
  virtual double cached_seconds(std::span<const double> constants) const;
  virtual Explanation explain(std::size_t candidate, std::span<const double> constants) const = 0;
  // Input of the residual correction, beside the row's sizes and its predicted time.
  virtual void add_features(std::size_t candidate, std::vector<double>& features) const = 0;
};

// A formula for the time of one kind of kernel.
//
// Two rules keep predictions physical. Time never grows when a rate or a capacity of the machine grows. And
// time halves when every rate doubles and every latency (constants ending in _us or _ns) halves.
class KernelForm {
 public:
  struct Size {
    std::string column;
    std::optional<double> otherwise;      // the value if the table lacks the column; none: it must be there
    std::vector<std::string> words = {};  // not empty: the column holds one of these, the size is its index
  };

  virtual ~KernelForm() = default;
  virtual std::string name() const = 0;  // as in `predict NAME`
  virtual const std::vector<Size>& sizes() const = 0;
  // Rows of different groups have constants of their own: the column that tells them apart and its values.
  virtual std::string group_column() const = 0;
  virtual const std::vector<std::string>& groups() const = 0;  // the first is meant if there is no column
  virtual const std::vector<Constant>& constants(const std::string& group) const = 0;
  // Rejects sizes that describe no call; `where` names the row: "rows.csv, line 7".
  virtual void check(const TimingRow& row, const std::string& where) const;
  virtual Traits learn_traits(std::span<const TimingRow> rows, const Machine& machine) const;
  virtual std::unique_ptr<PreparedRow> prepare(const TimingRow& row, const Machine& machine,
                                               const Traits& traits) const = 0;
  // Whether residuals of rows of a device tell something about its other rows.
  virtual bool has_residual() const { return true; }
};

const std::vector<const KernelForm*>& kernel_forms();
const KernelForm& find_form(std::string_view name);  // rejects an unknown name
bool is_form(std::string_view name);

// The time of the fastest candidate, and which it is.
struct Fastest {
  std::size_t candidate = 0;
  double seconds = 0;
};
Fastest fastest(const PreparedRow& row, std::span<const double> constants);

std::vector<double> starting_values(const std::vector<Constant>& constants);

}  // namespace headroom

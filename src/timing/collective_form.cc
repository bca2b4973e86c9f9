// Collectives among GPUs of one host: a ring, or all pairs, in the fastest of a library's three protocols.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "timing/device_rates.h"
#include "timing/forms.h"

namespace headroom {
namespace {

// NVLink switches of the third generation and later add up what passes through them. This is the compute
// capability of the first GPUs whose links meet there.
constexpr int kReducingSwitch = 90;
constexpr double kRingGpus = 4;  // up to here libraries stay with the ring
constexpr double kBusGpus = 8;   // hosts with more GPUs have several buses
constexpr double kMaxGpus = 72;  // that one NVLink switch joins: GB200 NVL72

// Places in collective_constants.
struct CollectiveConstant {
  enum : std::size_t {
    kStart,
    kStep,
    kSmall,
    kMiddleStart,
    kMiddleStep,
    kMiddle,
    kLargeStart,
    kLargeStep,
    kLarge,
    kCopy,
    kFall,
    kSwitchStart,
    kSwitch
  };
};

// The last two come from one published time of eight H200: tables of 2 and 4 GPUs do not show the switch.
const std::vector<Constant>& collective_constants() {
  static const std::vector<Constant> list = {
      {"start_cycles", 10000, 1000, 100000, "fixed time"},
      {"step_cycles", 1500, 50, 20000, "of one step of the ring"},
      {"small_share", 0.03, 0.002, 0.2, "of the link, in the protocol for small messages"},
      {"middle_start_cycles", 1500, 50, 50000, "fixed time added by the second protocol"},
      {"middle_step_cycles", 250, 5, 10000, "added to its steps"},
      {"middle_share", 0.35, 0.05, 1, "of the link"},
      {"large_start_cycles", 25000, 500, 500000, "fixed time added by the protocol for large messages"},
      {"large_step_cycles", 1300, 20, 50000, "added to its steps"},
      {"large_share", 0.68, 0.1, 1, "of the link"},
      {"copy_steps", 0.35, 0.01, 3, "steps of the ring that the copy of a GPU's own share takes"},
      {"bus_fall", 2, 0.2, 4, "exponent by which a shared PCIe bus slows down with gpus / 2"},
      {"switch_start_cycles", 140000, 0, 0, "fixed time of an all-reduce within the switch"},
      {"switch_share", 0.678, 0, 0, "of the link, there"}};
  return list;
}

class PreparedCollective final : public PreparedRow {
  using At = CollectiveConstant;

 public:
  PreparedCollective(const TimingRow& row, const Machine& machine) : device_(device_rates(machine, "fp32")) {
    gpus_ = row.sizes[0];
    const double bytes = row.sizes[1];
    shares_bus_ = device_.link <= 0 || (machine.peer_gpus > 0 && gpus_ > double(machine.peer_gpus));
    link_ = shares_bus_ ? machine.host_link.bytes_per_s : device_.link;
    if (!(link_ > 0))
      reject(Hint{"give it `peer_bytes_per_s` or `host_link.bytes_per_s`"},
             "machine '{}' has no known link to other GPUs", machine.name);
    const bool reduces = row.group == "all_reduce";
    steps_ = reduces ? 2 * (gpus_ - 1) : gpus_ - 1;
    step_s_ = bytes / gpus_ / link_;
    // Each GPU sends its whole message to the switch and one share of the result back, and receives as much.
    if (reduces && gpus_ > kRingGpus && !shares_bus_ && machine.compute_capability >= kReducingSwitch)
      switch_s_ = (1 + 1 / gpus_) * bytes / link_;
    // Whatever the algorithm, a GPU receives at least what it does not have yet.
    floor_ = (gpus_ - 1) / gpus_ * bytes / link_;
  }

  std::size_t candidates() const override { return switch_s_ > 0 ? 4 : 3; }
  double seconds(std::size_t c, std::span<const double> k) const override {
    return latency(c, k) + transfer(c, k);
  }
  double floor() const override { return floor_; }
  Explanation explain(std::size_t c, std::span<const double> k) const override {
    static constexpr const char* kNames[] = {"protocol for small messages", "protocol for middle messages",
                                             "protocol for large messages", "reduction in the switch"};
    return {kNames[c], 0, 0, transfer(c, k) > latency(c, k) ? "link" : "latency"};
  }
  void add_features(std::size_t c, std::vector<double>& features) const override {
    features.push_back(double(c));
    features.push_back(std::log2(step_s_));
  }

 private:
  double latency(std::size_t c, std::span<const double> k) const {
    double cycles = k[At::kStart] + k[At::kStep] * steps_;
    if (c == 1) cycles += k[At::kMiddleStart] + k[At::kMiddleStep] * steps_;
    if (c == 2) cycles += k[At::kLargeStart] + k[At::kLargeStep] * steps_;
    if (c == 3) cycles = k[At::kSwitchStart];
    return cycles * device_.cycle_s;
  }
  double transfer(std::size_t c, std::span<const double> k) const {
    static constexpr std::size_t kShares[] = {At::kSmall, At::kMiddle, At::kLarge, At::kSwitch};
    if (c == 3) return switch_s_ / k[At::kSwitch];
    return (steps_ + k[At::kCopy]) * step_s_ / k[kShares[c]] *
           (shares_bus_ ? std::pow(std::min(gpus_, kBusGpus) / 2, k[At::kFall]) : 1);
  }

  DeviceRates device_;
  double gpus_ = 0, steps_ = 0, link_ = 0, step_s_ = 0, switch_s_ = 0, floor_ = 0;
  bool shares_bus_ = false;
};

class CollectiveForm final : public KernelForm {
 public:
  std::string name() const override { return "collective"; }
  const std::vector<Size>& sizes() const override {
    static const std::vector<Size> sizes = {{"gpus", {}}, {"bytes", {}}};
    return sizes;
  }
  std::string group_column() const override { return "op"; }
  const std::vector<std::string>& groups() const override {
    static const std::vector<std::string> groups = {"all_reduce", "all_gather", "reduce_scatter", "alltoall"};
    return groups;
  }
  const std::vector<Constant>& constants(const std::string&) const override { return collective_constants(); }
  void check(const TimingRow& row, const std::string& where) const override {
    if (row.sizes[0] < 2) reject("{}: 'gpus' is {}; an exchange needs at least 2", where, row.sizes[0]);
    if (row.sizes[0] > kMaxGpus)
      reject(Hint{"exchanges between hosts are not predicted from tables"},
             "{}: 'gpus' is {}; at most {} share the links of one host", where, row.sizes[0], kMaxGpus);
  }
  std::unique_ptr<PreparedRow> prepare(const TimingRow& row, const Machine& machine,
                                       const Traits&) const override {
    return std::make_unique<PreparedCollective>(row, machine);
  }
  // Tables hold few counts of GPUs, and the question is about others: a correction learnt by size would not
  // carry over.
  bool has_residual() const override { return false; }
};

}  // namespace

const KernelForm& collective_form() {
  static const CollectiveForm form;
  return form;
}

}  // namespace headroom

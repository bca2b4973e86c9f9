#include "report/profile_card.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "profile/trace_scope.h"
#include "report/kernel_names.h"

namespace headroom {
namespace {

// The whole name of the kernel that is meant.
std::string card_name(const std::set<std::string>& names, const std::string& wanted) {
  if (names.contains(wanted)) return wanted;
  std::vector<std::string> as_printed, with_part;
  for (const std::string& name : names) {
    as_printed.push_back(short_kernel_name(name));
    if (as_printed.back() == wanted) return name;
    if (!wanted.empty() && name.find(wanted) != std::string::npos) with_part.push_back(name);
  }
  if (with_part.size() == 1) return with_part[0];
  if (with_part.size() > 1) {
    for (std::string& name : with_part) name = fmt::format("'{}'", printable(short_kernel_name(name)));
    reject(Hint{fmt::format("name one of {}", fmt::join(with_part, ", "))},
           "`card` is '{}', which is a part of {}", wanted, counted(std::ssize(with_part), "kernel name"));
  }
  reject(nearest(wanted, as_printed), "`card` is '{}'; no such kernel ran", wanted);
}

auto configuration_of(const Trace::Kernel& k) {
  return std::tie(k.grid, k.block, k.cluster, k.registers, k.static_shared, k.dynamic_shared,
                  k.shared_executed, k.local);
}

// The mean time from an earlier event to the start, of the launches for which it is known.
std::optional<double> seconds_before_start(const std::vector<const Trace::Kernel*>& launches,
                                           std::int64_t Trace::Kernel::*earlier) {
  double sum = 0;
  std::int64_t known_ones = 0;
  for (const Trace::Kernel* k : launches)
    if (k->*earlier != 0) sum += 1e-9 * double(k->begin_ns - k->*earlier), ++known_ones;
  return known_ones == 0 ? std::nullopt : std::optional(sum / double(known_ones));
}

LaunchCard card_of(const Trace& trace, const std::vector<const Trace::Kernel*>& launches,
                   const std::optional<SmLimits>& limits) {
  LaunchCard card{.launch = *launches[0], .name = trace.text(launches[0]->name)};
  std::set<std::string> streams;
  std::int64_t first = launches[0]->begin_ns, last = launches[0]->end_ns, total = 0;
  for (const Trace::Kernel* k : launches) {
    first = std::min(first, k->begin_ns), last = std::max(last, k->end_ns);
    total += k->end_ns - k->begin_ns;
    const Trace::Lane& lane = trace.lanes.at(static_cast<std::size_t>(k->lane));
    streams.insert(lane.rank == 0 ? lane.name : fmt::format("{} of rank {}", lane.name, lane.rank));
  }
  card.streams = fmt::format("{}", fmt::join(streams, ", "));
  card.launches = std::ssize(launches);
  card.first_start_s = 1e-9 * double(first), card.last_end_s = 1e-9 * double(last);
  card.average_s = 1e-9 * double(total) / double(card.launches);
  card.queued_s = seconds_before_start(launches, &Trace::Kernel::queued_ns);
  card.submitted_s = seconds_before_start(launches, &Trace::Kernel::submitted_ns);
  if (limits) card.occupancy = occupancy_of(card.launch, *limits), card.sm_warps = limits->warps;
  return card;
}

std::int64_t product(const std::array<int, 3>& sizes) {
  return std::int64_t{1} * sizes[0] * sizes[1] * sizes[2];
}

std::string sizes_text(const std::array<int, 3>& sizes) {
  return fmt::format("{} x {} x {}", sizes[0], sizes[1], sizes[2]);
}

std::string delays_text(const LaunchCard& card) {
  const auto one = [](const char* what, const std::optional<double>& s) {
    return s ? fmt::format("{} {} before the start", what, human_seconds(*s))
             : fmt::format("{} not known", what);
  };
  return fmt::format("{}, {}", one("queued", card.queued_s), one("submitted", card.submitted_s));
}

std::string shared_text(const Trace::Kernel& k) {
  return fmt::format("{} B requested per block ({} static + {} dynamic), {} B executed",
                     with_commas(k.static_shared + k.dynamic_shared), with_commas(k.static_shared),
                     with_commas(k.dynamic_shared), with_commas(k.shared_executed));
}

std::string occupancy_text(const LaunchCard& card) {
  if (!card.occupancy) return "not known for this GPU";
  const KernelOccupancy& o = *card.occupancy;
  return fmt::format("{:.1f} % in theory: {} of {} warps, {} per multiprocessor; limited by {}", o.percent,
                     o.warps, card.sm_warps, counted(o.blocks, "block"), o.limiter);
}

Cell optional_us(const std::optional<double>& seconds) { return seconds ? Cell(1e6 * *seconds) : Cell(); }

}  // namespace

std::vector<LaunchCard> launch_cards(const Trace& trace, const std::string& kernel,
                                     const std::optional<SmLimits>& limits) {
  const TraceScope scope(trace);
  std::set<std::string> names;
  for (const Trace::Kernel& k : trace.kernels)
    if (scope.holds(k)) names.insert(trace.text(k.name));
  if (names.empty())
    reject(Hint{"profile a run on a GPU: `device` cuda"}, "`card` is '{}', but no GPU kernel was recorded",
           kernel);
  const std::string name = card_name(names, kernel);
  std::map<decltype(configuration_of(trace.kernels[0])), std::vector<const Trace::Kernel*>> launches;
  for (const Trace::Kernel& k : trace.kernels)
    if (scope.holds(k) && trace.text(k.name) == name) launches[configuration_of(k)].push_back(&k);
  std::vector<LaunchCard> cards;
  for (const auto& [configuration, of_it] : launches) cards.push_back(card_of(trace, of_it, limits));
  std::ranges::stable_sort(cards, std::greater(),
                           [](const LaunchCard& card) { return card.average_s * double(card.launches); });
  return cards;
}

std::string card_text(const std::vector<LaunchCard>& cards) {
  std::string text;
  for (const LaunchCard& card : cards) {
    const Trace::Kernel& k = card.launch;
    const std::int64_t threads = product(k.block);
    const std::vector<std::pair<const char*, std::string>> lines = {
        {"launches",
         fmt::format("{}, {} each on average", with_commas(card.launches), human_seconds(card.average_s))},
        {"start, end", fmt::format("first start {:.3f} ms, last end {:.3f} ms after the start of the trace",
                                   1e3 * card.first_start_s, 1e3 * card.last_end_s)},
        {"delays", delays_text(card)},
        {"stream", printable(card.streams)},
        {"grid", fmt::format("{}: {}", sizes_text(k.grid), counted(product(k.grid), "block"))},
        {"block", fmt::format("{}: {}, {}", sizes_text(k.block), counted(threads, "thread"),
                              counted((threads + 31) / 32, "warp"))},
        {"cluster", sizes_text(k.cluster)},
        {"registers", fmt::format("{} per thread", k.registers)},
        {"spills",
         k.local == 0 ? "none" : fmt::format("{} B of local memory per thread", with_commas(k.local))},
        {"shared memory", shared_text(k)},
        {"occupancy", occupancy_text(card)}};
    text += (text.empty() ? "" : "\n") + printable(card.name) + "\n";
    // A graph as a whole has no grid, and what comes after it.
    const std::size_t shown = k.whole_graph() ? 4 : lines.size();
    for (const auto& [title, value] : std::span(lines).first(shown))
      text += fmt::format("  {:<13}  {}\n", title, value);
  }
  return text;
}

Sheet card_sheet(const std::vector<LaunchCard>& cards) {
  using enum Column::Format;
  Sheet sheet(
      "card",
      {{.key = "short_name", .title = "kernel"},
       {.key = "name", .title = ""},
       {.key = "launches", .title = "launches", .format = commas},
       {.key = "average_us", .title = "average us", .unit = "us", .format = hundredths},
       {.key = "first_start_ms",
        .title = "first start ms",
        .unit = "ms",
        .format = thousandths,
        .priority = 9},
       {.key = "last_end_ms", .title = "last end ms", .unit = "ms", .format = thousandths, .priority = 9},
       {.key = "queued_us", .title = "queued us", .unit = "us", .format = hundredths, .priority = 8},
       {.key = "submitted_us", .title = "submitted us", .unit = "us", .format = hundredths, .priority = 8},
       {.key = "stream", .title = "stream", .left = true, .priority = 7},
       {.key = "grid", .title = "grid", .left = true},
       {.key = "block", .title = "block", .left = true},
       {.key = "cluster", .title = "cluster", .left = true, .priority = 6},
       {.key = "registers", .title = "registers"},
       {.key = "local_bytes", .title = "spilled B", .unit = "B", .priority = 5},
       {.key = "static_shared_bytes", .title = "static B", .unit = "B", .priority = 4},
       {.key = "dynamic_shared_bytes", .title = "dynamic B", .unit = "B", .priority = 4},
       {.key = "executed_shared_bytes", .title = "executed B", .unit = "B", .priority = 4},
       {.key = "occupancy_percent", .title = "occupancy %", .unit = "%", .format = tenths},
       {.key = "warps", .title = "warps", .priority = 3},
       {.key = "blocks", .title = "blocks", .priority = 3},
       {.key = "limiter", .title = "limited by", .left = true}});
  for (const LaunchCard& c : cards) {
    const Trace::Kernel& k = c.launch;
    const auto occupancy = [&](auto cell) { return c.occupancy ? Cell(cell(*c.occupancy)) : Cell(); };
    sheet.row({short_kernel_name(c.name),
               c.name,
               c.launches,
               1e6 * c.average_s,
               1e3 * c.first_start_s,
               1e3 * c.last_end_s,
               optional_us(c.queued_s),
               optional_us(c.submitted_s),
               c.streams,
               sizes_text(k.grid),
               sizes_text(k.block),
               sizes_text(k.cluster),
               std::int64_t{k.registers},
               k.local,
               k.static_shared,
               k.dynamic_shared,
               k.shared_executed,
               occupancy([](const KernelOccupancy& o) { return o.percent; }),
               occupancy([](const KernelOccupancy& o) { return std::int64_t{o.warps}; }),
               occupancy([](const KernelOccupancy& o) { return std::int64_t{o.blocks}; }),
               occupancy([](const KernelOccupancy& o) { return o.limiter; })});
  }
  return sheet;
}

}  // namespace headroom

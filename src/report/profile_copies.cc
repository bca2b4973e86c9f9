#include "report/profile_copies.h"

#include <algorithm>
#include <map>

#include "profile/trace_scope.h"

namespace headroom {
namespace {

struct CopySum {
  Trace::CopyKind kind = {};
  bool pinned = true;
  std::int64_t count = 0, bytes = 0, ns = 0;
  double rate() const { return ns > 0 ? 1e9 * double(bytes) / double(ns) : 0; }  // bytes per second
  bool uses_host() const {
    return kind == Trace::CopyKind::host_to_device || kind == Trace::CopyKind::device_to_host;
  }
};

std::vector<CopySum> copy_sums(const Trace& trace) {
  const TraceScope scope(trace);
  std::map<std::pair<Trace::CopyKind, bool>, CopySum> sums;
  for (const Trace::Copy& copy : trace.copies) {
    if (!scope.holds(copy)) continue;
    CopySum one{.kind = copy.kind, .pinned = copy.pinned};
    if (!one.uses_host()) one.pinned = true;  // says nothing there
    CopySum& sum = sums.try_emplace({one.kind, one.pinned}, one).first->second;
    ++sum.count;
    sum.bytes += copy.bytes;
    sum.ns += copy.end_ns - copy.begin_ns;
  }
  std::vector<CopySum> list;
  for (const auto& [key, sum] : sums) list.push_back(sum);
  std::ranges::stable_sort(list, std::greater(), &CopySum::ns);
  return list;
}

struct PageSum {
  std::int64_t events = 0, bytes = 0, faults = 0, ns = 0;
};

std::map<Trace::PageEvent, PageSum> page_sums(const Trace& trace) {
  const TraceScope scope(trace);
  std::map<Trace::PageEvent, PageSum> sums;
  for (const Trace::Pages& pages : trace.pages) {
    if (!scope.holds(pages)) continue;
    PageSum& sum = sums[pages.kind];
    ++sum.events, sum.bytes += pages.bytes, sum.faults += pages.faults;
    sum.ns += pages.end_ns - pages.begin_ns;
  }
  return sums;
}

// Moved pages have bytes and a rate, faults only a number.
void add_page_rows(Sheet& sheet, const Trace& trace, double link_bytes_per_s) {
  for (const auto& [kind, sum] : page_sums(trace)) {
    const bool moves = sum.bytes > 0;
    const double rate = sum.ns > 0 ? 1e9 * double(sum.bytes) / double(sum.ns) : 0;
    sheet.row({std::string(name_of(kind)), std::string("managed"), moves ? sum.events : sum.faults,
               moves ? Cell(sum.bytes) : Cell(), sum.ns > 0 ? Cell(1e-6 * double(sum.ns)) : Cell(),
               moves ? known(rate / 1e9) : Cell(),
               moves && link_bytes_per_s > 0 ? known(100 * rate / link_bytes_per_s) : Cell()});
  }
}

}  // namespace

Sheet copies_sheet(const Trace& trace, double link_bytes_per_s) {
  using enum Column::Format;
  Sheet sheet("copies",
              {{.key = "kind", .title = "copy"},
               {.key = "memory", .title = "host memory", .left = true},
               {.key = "count", .title = "count", .format = commas},
               {.key = "bytes", .title = "bytes", .unit = "B", .format = bytes},
               {.key = "total_ms", .title = "total ms", .unit = "ms", .format = thousandths, .priority = 1},
               {.key = "gb_per_s", .title = "GB/s", .unit = "GB/s", .format = hundredths},
               {.key = "link_percent", .title = "% of link", .unit = "%", .format = tenths}});
  CopySum all;
  for (const CopySum& sum : copy_sums(trace)) {
    const bool on_link = sum.uses_host() && link_bytes_per_s > 0;
    sheet.row({std::string(name_of(sum.kind)),
               sum.uses_host() ? Cell(std::string(sum.pinned ? "pinned" : "pageable")) : Cell(), sum.count,
               sum.bytes, 1e-6 * double(sum.ns), known(sum.rate() / 1e9),
               on_link ? known(100 * sum.rate() / link_bytes_per_s) : Cell()});
    all.count += sum.count, all.bytes += sum.bytes, all.ns += sum.ns;
  }
  const bool several = sheet.rows() > 1;
  add_page_rows(sheet, trace, link_bytes_per_s);
  if (several) sheet.total({std::string("total"), {}, all.count, all.bytes, 1e-6 * double(all.ns), {}, {}});
  return sheet;
}

}  // namespace headroom

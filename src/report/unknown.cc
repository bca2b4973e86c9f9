#include "report/unknown.h"

#include <algorithm>

#include "base/json.h"

namespace headroom {
namespace {

struct Row {
  std::string op, node, reason;
  int count = 0;
};

// One row per operator, in order of appearance.
std::vector<Row> rows_of(const Program& p) {
  std::vector<Row> rows;
  for (const UnknownNode& u : p.unknown) {
    auto it = std::ranges::find(rows, u.op, &Row::op);
    if (it == rows.end()) it = rows.insert(rows.end(), {u.op, u.node, u.reason});
    ++it->count;
  }
  return rows;
}

std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kShown ? ", …" : "");
}

}  // namespace

std::string ports_text(const Net& net, const Program& p) {
  std::string text = net.name + "\n";
  auto list = [&](const char* title, const std::vector<Port>& ports) {
    for (const Port& port : ports) {
      const TensorType& type = p.graph.value(port.value).type;
      text += fmt::format("  {:<8} {}: {} {}\n", title, port.name, type.shape.str(), name_of(type.dtype));
    }
  };
  list("input", p.inputs);
  list("output", p.outputs);
  return text + "\n";
}

std::string unknown_text(const Program& p, const TableView& view) {
  if (p.unknown.empty()) return "";
  Sheet sheet("unknown", {{.key = "operator", .title = "not known"},
                          {.key = "nodes", .title = "nodes"},
                          {.key = "first", .title = "first", .left = true},
                          {.key = "reason", .title = "why", .left = true, .wrap = true}});
  for (const Row& row : rows_of(p)) sheet.row({row.op, std::int64_t{row.count}, row.node, row.reason});
  std::string text =
      "\nThe numbers above do not include these nodes, so they are a lower bound:\n" + sheet.text(view);
  if (!p.unreached.empty())
    text +=
        fmt::format("They also do not include {} after them, whose shapes are unknown: {}\n",
                    p.unreached.size() == 1 ? "the node" : fmt::format("the {} nodes", p.unreached.size()),
                    first_of(p.unreached));
  return text;
}

void add_unknown(Json& json, const Program& p) {
  if (p.unknown.empty()) return;
  json["unknown"] = Json::array();
  for (const Row& row : rows_of(p))
    json["unknown"].push_back(
        {{"operator", row.op}, {"nodes", row.count}, {"first", row.node}, {"reason", row.reason}});
  json["unreached"] = p.unreached;
}

}  // namespace headroom

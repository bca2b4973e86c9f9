#include "headroom/attrs.h"

#include "base/error.h"

namespace headroom {
namespace {

template <class T>
T get(const std::map<std::string, Attr, std::less<>>& items, std::string_view name, T fallback) {
  const auto it = items.find(name);
  if (it == items.end()) return fallback;
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  fail("attribute '{}' has another type than its reader expects", name);
}

}  // namespace

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<std::pair<const std::string, Attr>> items) : items_(items) {}
Attrs::Attrs(const Attrs&) = default;
Attrs::Attrs(Attrs&&) noexcept = default;
Attrs& Attrs::operator=(const Attrs&) = default;
Attrs& Attrs::operator=(Attrs&&) noexcept = default;
Attrs::~Attrs() = default;
bool Attrs::operator==(const Attrs&) const = default;

void Attrs::set(const std::string& name, Attr value) { items_[name] = std::move(value); }
bool Attrs::has(std::string_view name) const { return items_.find(name) != items_.end(); }

std::int64_t Attrs::integer(std::string_view name, std::int64_t fallback) const {
  return get<std::int64_t>(items_, name, fallback);
}
double Attrs::real(std::string_view name, double fallback) const {
  return get<double>(items_, name, fallback);
}
std::string Attrs::text(std::string_view name, std::string fallback) const {
  return get<std::string>(items_, name, std::move(fallback));
}
std::vector<std::int64_t> Attrs::integers(std::string_view name, std::vector<std::int64_t> fallback) const {
  return get<std::vector<std::int64_t>>(items_, name, std::move(fallback));
}

std::string Attrs::str() const {
  struct Show {
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{:g}", v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ","));
    }
  };
  std::string text;
  for (const auto& [name, value] : items_)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, std::visit(Show{}, value));
  return text;
}

}  // namespace headroom

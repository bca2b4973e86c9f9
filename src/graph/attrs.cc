#include "headroom/attrs.h"

#include <atomic>

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
Attrs::Attrs(std::initializer_list<std::pair<const std::string, Attr>> items)
    : items_(items.size() == 0 ? nullptr : std::make_shared<Items>(items)) {}
Attrs::Attrs(const Attrs&) = default;
Attrs::Attrs(Attrs&&) noexcept = default;
Attrs& Attrs::operator=(const Attrs&) = default;
Attrs& Attrs::operator=(Attrs&&) noexcept = default;
Attrs::~Attrs() = default;
bool Attrs::operator==(const Attrs& other) const {
  return items_ == other.items_ || items() == other.items();
}

const Attrs::Items& Attrs::items() const {
  static const Items none;
  return items_ ? *items_ : none;
}
void Attrs::set(const std::string& name, Attr value) {
  if (!items_)
    items_ = std::make_shared<Items>();
  else if (items_.use_count() > 1)
    items_ = std::make_shared<Items>(*items_);
  else
    std::atomic_thread_fence(std::memory_order_acquire);  // a copy in another thread may just have gone
  (*items_)[name] = std::move(value);
}
bool Attrs::has(std::string_view name) const { return items().find(name) != items().end(); }

std::int64_t Attrs::integer(std::string_view name, std::int64_t fallback) const {
  return get<std::int64_t>(items(), name, fallback);
}
double Attrs::real(std::string_view name, double fallback) const {
  return get<double>(items(), name, fallback);
}
std::string Attrs::text(std::string_view name, std::string fallback) const {
  return get<std::string>(items(), name, std::move(fallback));
}
std::vector<std::int64_t> Attrs::integers(std::string_view name, std::vector<std::int64_t> fallback) const {
  return get<std::vector<std::int64_t>>(items(), name, std::move(fallback));
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
  for (const auto& [name, value] : items())
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, std::visit(Show{}, value));
  return text;
}

}  // namespace headroom

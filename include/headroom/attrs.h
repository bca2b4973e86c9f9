#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headroom {

using Attr = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>>;

// Named constants of a node. A getter returns the default for an absent name and throws if the type differs.
class Attrs {
 public:
  // Not inline: every operator's file would compile them again.
  Attrs();
  Attrs(std::initializer_list<std::pair<const std::string, Attr>> items);
  Attrs(const Attrs&);
  Attrs(Attrs&&) noexcept;
  Attrs& operator=(const Attrs&);
  Attrs& operator=(Attrs&&) noexcept;
  ~Attrs();

  void set(const std::string& name, Attr value);
  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;
  std::string text(std::string_view name, std::string fallback = {}) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {}) const;

  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  bool empty() const { return items().empty(); }
  bool operator==(const Attrs&) const;
  std::string str() const;  // "groups=2 strides=[2,2]"

 private:
  using Items = std::map<std::string, Attr, std::less<>>;
  const Items& items() const;
  std::shared_ptr<Items> items_;  // copies share it until one of them changes; null: none
};

}  // namespace headroom

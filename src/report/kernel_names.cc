#include "report/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace headroom {
namespace {

constexpr std::string_view kUnnamed = "(anonymous namespace)::";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '~'; }

// "void f<4>(int, float*)" as "f<4>". A name without parameters at its end stays as it is.
std::string_view without_signature(std::string_view name) {
  if (!name.ends_with(')')) return name;
  std::size_t at = name.size();
  int open = 0;
  do {
    --at;
    open += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
  } while (open > 0 && at > 0);
  if (at == 0) return name;
  name = name.substr(0, at);
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

// Template arguments of template arguments as "<…>".
std::string without_inner_arguments(std::string_view name) {
  std::string shorter;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_arrow = name[i] == '>' && i > 0 && name[i - 1] == '-';
    if (name[i] == '<' && ++depth == 2) shorter += "<…";
    if (depth < 2) shorter += name[i];
    if (name[i] == '>' && !is_arrow && depth > 0 && --depth == 1) shorter += '>';
  }
  return shorter;
}

std::string without_namespaces(std::string_view name) {
  std::string shorter;
  std::size_t word = 0;  // where the last word begins in `shorter`
  while (!name.empty()) {
    if (name.starts_with(kUnnamed)) {
      name.remove_prefix(kUnnamed.size());
    } else if (name.starts_with("::")) {
      // What follows a template's arguments is a member: "A<int>::run" stays.
      const bool after_word = !shorter.empty() && is_word(shorter.back());
      if (after_word)
        shorter.resize(word);
      else if (!shorter.empty() && shorter.back() == '>')
        shorter += "::";
      name.remove_prefix(2);
      word = shorter.size();
    } else {
      if (!is_word(name.front())) word = shorter.size() + 1;
      shorter += name.front();
      name.remove_prefix(1);
    }
  }
  return shorter;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// The first and last characters with "…" between: names differ at both ends.
std::string without_middle(std::string_view name, std::size_t width) {
  std::size_t head = 0, tail = name.size();
  for (std::size_t kept = 0; kept < width - width / 2 - 1; ++kept) do
      ++head;
    while (!begins_character(name[head]));
  for (std::size_t kept = 0; kept < width / 2; ++kept) do
      --tail;
    while (!begins_character(name[tail]));
  return fmt::format("{}…{}", name.substr(0, head), name.substr(tail));
}

}  // namespace

std::string short_kernel_name(std::string_view name, std::size_t width) {
  std::string shorter(without_signature(name));
  if (characters(shorter) > width) shorter = without_inner_arguments(shorter);
  if (characters(shorter) > width) shorter = without_namespaces(shorter);
  if (characters(shorter) > width) shorter = without_middle(shorter, std::max<std::size_t>(width, 1));
  return shorter;
}

}  // namespace headroom

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::testing {

// Why a text is not well-formed XML, as far as our pictures use XML; empty: it is. Knows elements, quoted
// attributes, texts and the named entities.
class XmlCheck {
 public:
  explicit XmlCheck(std::string_view text) : text_(text) {}

  std::string problem() {
    while (why_.empty() && at_ < text_.size()) text_[at_] == '<' ? tag() : character(true);
    if (why_.empty() && !open_.empty()) return "not closed: " + open_.back();
    if (why_.empty() && roots_ != 1) return std::to_string(roots_) + " elements at the top";
    return why_;
  }

 private:
  void wrong(std::string_view what) {
    if (why_.empty()) why_ = std::string(what) + " at " + std::to_string(at_) + ": " + near();
  }
  std::string near() const { return std::string(text_.substr(at_ < 20 ? 0 : at_ - 20, 60)); }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-'))
      ++at_;
    if (at_ == begin) wrong("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  void character(bool is_text) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (is_text && open_.empty() && byte != '\n') return wrong("text outside of the element");
    if (byte < 0x20 && byte != '\n' && byte != '\t') return wrong("a control character");
    if (byte != '&') return static_cast<void>(++at_);
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;"})
      if (take(entity)) return;
    wrong("a bare ampersand");
  }

  void tag() {
    if (take("</")) {
      if (open_.empty() || name() != open_.back() || !take(">")) return wrong("a wrong end tag");
      return open_.pop_back();
    }
    take("<");
    if (open_.empty()) ++roots_;
    open_.push_back(name());
    std::vector<std::string> seen;
    for (blanks(); why_.empty() && !take(">"); blanks()) {
      if (take("/>")) return open_.pop_back();
      const std::string attribute = name();
      for (const std::string& other : seen)
        if (other == attribute) wrong("an attribute twice");
      seen.push_back(attribute);
      if (!take("=\"")) return wrong("an attribute without a quoted value");
      while (why_.empty() && at_ < text_.size() && text_[at_] != '"')
        text_[at_] == '<' ? wrong("< in an attribute") : character(false);
      if (!take("\"")) return wrong("an attribute without an end");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int roots_ = 0;
  std::vector<std::string> open_;
  std::string why_;
};

inline std::string xml_problem(std::string_view text) { return XmlCheck(text).problem(); }

}  // namespace headroom::testing

#include "page/page.h"

#include <array>

#include "base/embedded.h"
#include "base/json.h"
#include "page/html.h"
#include "report/diff.h"

namespace headroom {
namespace {

constexpr std::string_view kRecordsMark = "id=\"headroom-records\"";

std::string_view web_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_web())
    if (file.name == name) return file.text;
  return {};
}

// In the order of the page.
constexpr std::array kSections = {summary_section,  curves_section,      step_section,   layers_section,
                                  roofline_section, timeline_section,    ranges_section, prediction_section,
                                  memory_section,   utilisation_section, ranks_section,  tables_section,
                                  origin_section};

std::vector<PageSection> sections_of(const PageRun& run, const std::string& prefix) {
  std::vector<PageSection> sections;
  for (const auto& make : kSections)
    if (PageSection section = make(run); !section.body.empty()) {
      section.id = prefix + section.id;
      sections.push_back(std::move(section));
    }
  return sections;
}

std::string links_to(const std::vector<PageSection>& sections) {
  std::string text;
  for (const PageSection& section : sections)
    text += fmt::format("<a href=\"#{}\">{}</a>", section.id, html_text(section.title));
  return text;
}

std::string script(std::string_view name) {
  const std::string_view text = web_file(name);
  return text.empty() ? "" : fmt::format("<script>{}</script>\n", text);
}

std::string document(const std::string& title, const std::string& body, const std::string& attributes = "") {
  std::string text = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  text +=
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"headroom\">\n";
  text += "<link rel=\"icon\" href=\"data:,\">\n";
  text += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body{}>\n", html_text(title),
                      web_file("page"), attributes);
  text += "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n" + body;
  for (const std::string_view name : {"d3", "tables", "draw", "blocks", "live"}) text += script(name);
  return text + "</body>\n</html>\n";
}

std::string section_html(const PageSection& section) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>\n<div "
      "class=\"body\">{2}</div></section>\n",
      section.id, html_text(section.title), section.body);
}

std::string title_of(const PageRun& run) {
  const RunRecord& r = run.run.record;
  return r.model ? fmt::format("{}, headroom {}", r.model->name, r.verb) : "headroom " + r.verb;
}

}  // namespace

std::string html_page(const std::vector<PageRun>& runs) {
  Json records = Json::array();
  std::string main, links;
  const PageSection comparison = comparison_section(runs);
  if (!comparison.body.empty()) main += section_html(comparison), links += links_to({comparison});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    records.push_back(to_json(runs[i].run.record));
    const auto sections = sections_of(runs[i], runs.size() > 1 ? fmt::format("run{}-", i + 1) : "");
    const std::string name = runs.size() > 1 ? html_text(runs[i].name) : "";
    if (!name.empty())
      main += fmt::format("<h2 class=\"run\">{}</h2>\n", name), links += "<b>" + name + "</b>";
    for (const PageSection& section : sections) main += section_html(section);
    links += links_to(sections);
  }
  const std::string title = runs.size() == 1 ? title_of(runs[0]) : "headroom: runs side by side";
  const std::string about = runs.size() == 1 ? describe(runs[0].run.record) : "";
  return document(
      title,
      fmt::format(
          "<header><h1>{}</h1><p>{}</p></header>\n<nav aria-label=\"Sections\">{}</nav>\n"
          "<main id=\"main\">\n{}</main>\n<footer>Written by headroom. The run record is in this file, too: "
          "headroom report reads it again.</footer>\n{}\n",
          html_text(title), html_text(about), links, main, json_script(records, kRecordsMark)));
}

std::string live_page(const std::string& title, const std::vector<PageSection>& sections, bool follows) {
  std::string main;
  for (const PageSection& section : sections) main += section_html(section);
  return document(title,
                  fmt::format("<header><h1>{}</h1><p id=\"live-status\" role=\"status\"></p></header>\n"
                              "<main id=\"main\">\n{}</main>\n",
                              html_text(title), main),
                  follows ? " data-live=\"events\"" : "");
}

std::vector<Json> records_in_page(const std::string& html, const std::string& origin) {
  const Hint hint{"name a page that headroom report wrote"};
  const std::size_t mark = html.find(kRecordsMark);
  if (mark == std::string::npos) reject(hint, "{} holds no run record", origin);
  const std::size_t begin = html.find('>', mark), end = html.find("</script>", mark);
  if (begin == std::string::npos || end == std::string::npos)
    reject(hint, "{} is cut off: its record has no end", origin);
  const Json records = Json::parse(html.substr(begin + 1, end - begin - 1), nullptr, false);
  if (!records.is_array()) reject(hint, "{}: its record is not JSON", origin);
  return {records.begin(), records.end()};
}

}  // namespace headroom

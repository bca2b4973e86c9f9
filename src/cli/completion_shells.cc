// Completion scripts for zsh and fish, which describe each word.
#include "cli/completion.h"
#include "cli/completion_values.h"

namespace headroom::cli {
namespace {

// For single quotes in either shell; characters in `also` are escaped for the next reader.
std::string escaped(const std::string& text, const std::string& also = "") {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (also.find(c) != std::string::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// 'name:what it is', the form for _describe.
std::string zsh_described(const std::string& name, const std::string& help) {
  return fmt::format("'{}:{}'", escaped(name, ":\\"), escaped(help, "\\"));
}

std::string zsh_words(const Values& values) {
  std::string text;
  if (!values.words.empty())
    text = values.list ? fmt::format("_values -s , value {}", fmt::join(values.words, " "))
                       : fmt::format("compadd -- {}", fmt::join(values.words, " "));
  if (!values.inner.empty())
    text = fmt::format("if [[ $words[CURRENT] == *[:=]* ]]; then compadd -S '' -- ${{={}}}; else {}; fi",
                       values.inner, text);
  if (values.files) text += text.empty() ? "_files" : "; _files";
  return text.empty() ? "_message value" : text;
}

std::string zsh_verb(const VerbAt& at) {
  std::vector<std::string> options, verbs;
  std::string values, placed;
  for (const VerbTree& below : at.tree->verbs) verbs.push_back(zsh_described(below.name, below.about));
  for (const OptionTree& option : at.tree->options) {
    if (option.positional()) {
      placed += fmt::format("      {}\n", zsh_words(values_of(at.verbs, option)));
      continue;
    }
    for (const std::string& name : option.names) options.push_back(zsh_described(name, option.help));
    if (option.takes_value)
      values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, " | "),
                            zsh_words(values_of(at.verbs, option)));
  }
  std::string text = fmt::format("    '{}')\n", at.verbs);
  if (!values.empty()) text += "      case $before in\n" + values + "      esac\n";
  text += fmt::format("      known=({})\n", fmt::join(options, "\n        "));
  if (!verbs.empty()) text += fmt::format("      below=({})\n", fmt::join(verbs, "\n        "));
  if (!placed.empty()) text += "      [[ $words[CURRENT] == -* ]] || {\n" + placed + "      }\n";
  return text + "      ;;\n";
}

}  // namespace

std::string zsh_completion(const VerbTree& root) {
  std::vector<std::string> paths;
  for (const VerbAt& at : all_verbs(root))
    if (!at.verbs.empty()) paths.push_back("'" + at.verbs + "'");
  std::string text = R"(#compdef headroom
# zsh completion for headroom: source <(headroom completion zsh), or a file _headroom on $fpath
_headroom() {
  local verbs= before=$words[CURRENT-1] i
  local -a known below
)" +
                     fmt::format("  local models='{}'\n  local kernels='{}'\n",
                                 fmt::join(model_option_words(), " "), fmt::join(kernel_words(), " ")) +
                     R"(  for ((i = 2; i < CURRENT; i++)); do
    case "${verbs:+$verbs }$words[i]" in
)";
  text +=
      fmt::format("      {}) verbs=\"${{verbs:+$verbs }}$words[i]\" ;;\n    esac\n  done\n  case $verbs in\n",
                  fmt::join(paths, " | "));
  for (const VerbAt& at : all_verbs(root)) text += zsh_verb(at);
  return text + R"(  esac
  (( $#below )) && _describe verb below
  [[ $words[CURRENT] == -* ]] && _describe option known
}
if [[ $funcstack[1] == _headroom ]]; then _headroom "$@"; else compdef _headroom headroom; fi
)";
}

std::string fish_completion(const VerbTree& root) {
  std::vector<std::string> paths;
  for (const VerbAt& at : all_verbs(root))
    if (!at.verbs.empty()) paths.push_back("'" + at.verbs + "'");
  std::string text = fmt::format(R"(# fish completion for headroom: headroom completion fish | source
function __headroom_at
  set -l verbs
  for word in (commandline -opc)[2..]
    if contains -- (string join -- ' ' $verbs $word) {}
      set verbs $verbs $word
    end
  end
  test "$verbs" = "$argv[1]"
end
function __headroom_inner
  set -l models {}
  set -l kernels {}
  string match -qr -- "[:=]" (commandline -ct); and string join -- \n $$argv[1]
end
complete -c headroom -f
)",
                                 fmt::join(paths, " "), fmt::join(model_option_words(), " "),
                                 fmt::join(kernel_words(), " "));
  for (const VerbAt& at : all_verbs(root)) {
    const std::string here = fmt::format("complete -c headroom -n \"__headroom_at '{}'\"", at.verbs);
    for (const VerbTree& below : at.tree->verbs)
      text += fmt::format("{} -a {} -d '{}'\n", here, below.name, escaped(below.about, "\\"));
    for (const OptionTree& option : at.tree->options) {
      const Values values = values_of(at.verbs, option);
      std::string line = here;
      if (!option.positional())
        for (const std::string& name : option.names)
          line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value && !option.positional()) line += values.files ? " -r" : " -x";
      if (values.files) line += " -F";
      if (!values.words.empty()) line += fmt::format(" -a '{}'", fmt::join(values.words, " "));
      text += fmt::format("{} -d '{}'\n", line, escaped(option.help, "\\"));
      if (!values.inner.empty())
        text +=
            fmt::format("{} -a '(__headroom_inner {})'\n", line.substr(0, line.find(" -a ")), values.inner);
    }
  }
  return text;
}

}  // namespace headroom::cli

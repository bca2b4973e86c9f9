// The verb completion, and the script for bash. All words come from the command line itself, so new verbs and
// options need no change here.
#include "cli/completion.h"

#include "base/text.h"
#include "cli/completion_values.h"
#include "cli/options.h"
#include "cli/verbs.h"

namespace headroom::cli {
namespace {

void collect(const VerbTree& verb, const std::string& verbs, std::vector<VerbAt>& all) {
  all.push_back({verbs, &verb});
  for (const VerbTree& below : verb.verbs)
    collect(below, verbs.empty() ? below.name : verbs + " " + below.name, all);
}

constexpr const char* kBashHead = R"(  local raw=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD i
  local verbs='' names='' words='' list='' files='' inner=''
  # bash splits mlp:hidden=5 and --name=value at : and =; word is the whole again
  local word=$raw
  while ((at > 1)) && [[ ${COMP_WORDS[at]} == [:=] || ${COMP_WORDS[at - 1]} == [:=] ]]; do
    [[ ${COMP_WORDS[at - 1]} == -* ]] && break
    ((at--))
    word=${COMP_WORDS[at]}$word
  done
  word=${word#=}
  [[ $raw == [:=] ]] && raw=''
  local before=${COMP_WORDS[at - 1]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verbs${verbs:+ }${COMP_WORDS[i]}" in
)";

constexpr const char* kBashTail = R"(  esac
  if [[ $inner && $word == *[:=]* ]]; then
    local keep='' typed=$word
    if [[ $word == *:*,* ]]; then
      typed=${word%%:*}:${word##*,}
      [[ $raw == *,* ]] && keep=${raw%,*},
    fi
    local gone=${typed%"${typed##*[:=]}"}
    mapfile -t COMPREPLY < <(compgen -W "${!inner}" -- "$typed")
    COMPREPLY=("${COMPREPLY[@]/#"$gone"/$keep}")
    compopt -o nospace 2>/dev/null
    return
  fi
  local start=''
  if [[ $list && $word == *,* ]]; then
    start=${word%,*},
    word=${word##*,}
  fi
  [[ ! $start && $word == -* ]] && words="$names"
  [[ $files ]] || compopt +o default 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$start" -W "$words" -- "$word")
}
complete -o default -F _headroom headroom
)";

// One line of a case: the words allowed there.
std::string bash_words(const Values& values) {
  return fmt::format("words='{}'{}{}{}", fmt::join(values.words, " "), values.list ? " list=1" : "",
                     values.files ? " files=1" : "", values.inner.empty() ? "" : " inner=" + values.inner);
}

std::string bash_verb(const VerbAt& at) {
  std::vector<std::string> words;
  for (const VerbTree& below : at.tree->verbs) words.push_back(below.name);
  std::string values;
  Values placed{words};
  for (const OptionTree& option : at.tree->options) {
    const Values v = values_of(at.verbs, option);
    if (option.positional()) {
      placed.words.insert(placed.words.end(), v.words.begin(), v.words.end());
      placed.files = placed.files || v.files;
      if (!v.inner.empty()) placed.inner = v.inner;
    } else if (option.takes_value) {
      values += fmt::format("        {}) names='' {} ;;\n", fmt::join(option.names, " | "), bash_words(v));
    }
  }
  std::string text = fmt::format("    '{}')\n      names='{}' {}\n", at.verbs,
                                 fmt::join(option_names(*at.tree), " "), bash_words(placed));
  if (!values.empty()) text += "      case \"$before\" in\n" + values + "      esac\n";
  return text + "      ;;\n";
}

}  // namespace

std::vector<VerbAt> all_verbs(const VerbTree& root) {
  std::vector<VerbAt> all;
  collect(root, "", all);
  return all;
}

std::vector<std::string> option_names(const VerbTree& verb) {
  std::vector<std::string> names;
  for (const OptionTree& option : verb.options)
    if (!option.positional()) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string bash_completion(const VerbTree& root) {
  std::string text = fmt::format(
      "# bash completion for headroom: source <(headroom completion bash)\n_headroom() {{\n"
      "  local models='{}'\n  local kernels='{}'\n",
      fmt::join(model_option_words(), " "), fmt::join(kernel_words(), " "));
  text += kBashHead;
  std::vector<std::string> paths;
  for (const VerbAt& at : all_verbs(root))
    if (!at.verbs.empty()) paths.push_back("'" + at.verbs + "'");
  text += fmt::format(
      "      {}) verbs=\"$verbs${{verbs:+ }}${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n  case \"$verbs\" "
      "in\n",
      fmt::join(paths, " | "));
  for (const VerbAt& at : all_verbs(root)) text += bash_verb(at);
  return text + kBashTail;
}

void add_completion(Command app) {
  auto shell = std::make_shared<std::string>();
  Command verb = app.verb("completion", "print a script that completes this command line in your shell");
  verb.required("shell", *shell, "bash, zsh or fish");
  verb.example("source <(headroom completion bash)");
  verb.runs([app, shell] {
    if (*shell == "bash") return print(bash_completion(app.tree()));
    if (*shell == "zsh") return print(zsh_completion(app.tree()));
    if (*shell == "fish") return print(fish_completion(app.tree()));
    reject(nearest(*shell, std::vector<std::string>{"bash", "zsh", "fish"}),
           "there is no completion for the shell '{}'", *shell);
  });
}

}  // namespace headroom::cli

// Completion scripts, run by the shells. zsh and fish are tested if installed.
#include "support/program.h"

#include "base/json.h"
#include "machine/machine.h"
#include "models/zoo.h"
#include "train/recipe.h"

namespace headroom::testing {
namespace {

class Completion : public ProgramTest {
 protected:
  std::filesystem::path script(const std::string& shell) const {
    return put("script." + shell, succeed({"completion", shell}).out);
  }
  static bool installed(const std::string& shell) {
    for (const char* folder : {"/bin/", "/usr/bin/", "/usr/local/bin/"})
      if (std::filesystem::exists(folder + shell)) return true;
    return false;
  }
  static std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) lines.insert(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

  // The completions of the last of these words.
  std::set<std::string> in_bash(const std::string& words) const {
    const Outcome outcome = run_shell(
        "bash --norc -c 'source ./script.bash; COMP_WORDS=(" + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _headroom; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << words;
    return lines_of(outcome.out);
  }
  std::set<std::string> in_zsh(const std::string& words) const {
    // zsh's completion functions, each replaced by one that prints its candidates.
    const Outcome outcome = run_shell(
        "zsh -f -c 'compdef() { }; _files() { print FILES }; _message() { }; _values() { print -l -- "
        "$@[4,-1] }; "
        "compadd() { print -l -- $@[2,-1] }; _describe() { print -l -- ${(P)2%%:*} }; "
        "source ./script.zsh; words=(" +
        words + "); CURRENT=$#words; _headroom || true'");
    EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << words;
    return lines_of(outcome.out);
  }
  std::set<std::string> in_fish(const std::string& line) const {
    const Outcome outcome =
        run_shell("fish --no-config -c 'source ./script.fish; complete -C \"" + line + "\"'");
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << line;
    std::set<std::string> words;
    for (const std::string& offered : lines_of(outcome.out))
      words.insert(offered.substr(0, offered.find('\t')));
    return words;
  }
};

using Set = std::set<std::string>;

bool has(const Set& set, const std::string& word) { return set.count(word) > 0; }

TEST_F(Completion, BashKnowsVerbs) {
  script("bash");
  const Set verbs = in_bash("headroom \"\"");
  for (const char* verb : {"demo", "train", "eval", "predict", "roofline", "machine", "bench", "model",
                           "recipe", "data", "doctor", "completion", "watch", "tta", "sweep"})
    EXPECT_TRUE(has(verbs, verb)) << verb;
  EXPECT_EQ(in_bash("headroom tr"), Set{"train"});
  EXPECT_EQ(in_bash("headroom machine \"\""), (Set{"list", "show"}));
  EXPECT_EQ(in_bash("headroom data m"), Set{"make"});
  EXPECT_TRUE(has(in_bash("headroom --v"), "--version"));
}

// Everything --help lists is completed, for every verb: the script comes from the same description.
TEST_F(Completion, BashKnowsEveryOptionThatHelpLists) {
  script("bash");
  for (const std::string verb : {"train", "eval", "predict", "roofline", "watch", "bench nets", "model show",
                                 "data make", "tta", "sweep"}) {
    Words words;
    for (std::size_t at = 0; at < verb.size();) {
      const std::size_t end = std::min(verb.find(' ', at), verb.size());
      words.push_back(verb.substr(at, end - at));
      at = end + 1;
    }
    words.push_back("--help");
    const std::string help = succeed(words).out;
    const Set offered = in_bash("headroom " + verb + " --");
    int listed = 0;
    for (std::size_t at = 0; (at = help.find("  --", at)) != std::string::npos; ++at, ++listed) {
      const std::string name = help.substr(at + 2, help.find_first_of(" ,{\n", at + 2) - at - 2);
      EXPECT_TRUE(has(offered, name)) << verb << " " << name;
    }
    EXPECT_GE(listed, 3) << verb;
  }
}

TEST_F(Completion, BashKnowsValues) {
  script("bash");
  Set models, recipes;
  for (const ZooEntry& entry : zoo()) models.insert(entry.name);
  for (const std::string& name : recipe_names()) recipes.insert(name);
  EXPECT_EQ(in_bash("headroom train \"\""), models);
  EXPECT_EQ(in_bash("headroom train --recipe \"\""), recipes);
  EXPECT_EQ(in_bash("headroom train lenet5 --optimizer adama"), Set{});
  EXPECT_EQ(in_bash("headroom train lenet5 --optimizer adamw"), Set{"adamw"});
  EXPECT_TRUE(has(in_bash("headroom eval lenet5 --data \"\""), "fashion-mnist"));
  EXPECT_EQ(in_bash("headroom predict lenet5 --precision = fp6"), Set{"fp64"});  // bash splits at '='
  EXPECT_EQ(in_bash("headroom predict lenet5 --machine h20"), Set{"h200"});
  EXPECT_EQ(in_bash("headroom predict lenet5 --machine here,h20"), Set{"here,h200"});
  EXPECT_TRUE(has(in_bash("headroom machine show \"\""), "here"));
  EXPECT_EQ(in_bash("headroom completion \"\""), (Set{"bash", "fish", "zsh"}));
  EXPECT_EQ(in_bash("headroom train --lr \"\""), Set{});
}

// bash splits words at : and =.
TEST_F(Completion, BashKnowsOptionsOfModelsAndKernels) {
  script("bash");
  EXPECT_EQ(in_bash("headroom train mlp : hid"), Set{"hidden="});
  EXPECT_TRUE(has(in_bash("headroom model show mlp :"), "classes="));
  EXPECT_EQ(in_bash("headroom train mlp : activation = s"), Set{"sigmoid"});
  EXPECT_EQ(in_bash("headroom train mlp : hidden = 5,cl"), Set{"5,classes="});
  EXPECT_EQ(in_bash("headroom predict mlp : hidden = 5,activation = re"), Set{"relu"});
  EXPECT_EQ(in_bash("headroom train nosuch : hid"), Set{});
  EXPECT_EQ(in_bash("headroom bench ops batch_norm_inference_g"), Set{"batch_norm_inference_grad"});
  EXPECT_EQ(in_bash("headroom train mlp --kernel cross_entropy_g"), Set{"cross_entropy_grad="});
  EXPECT_TRUE(has(in_bash("headroom train mlp --kernel linear ="), "cpu:blas"));
  EXPECT_EQ(in_bash("headroom train mlp --kernel linear = cpu : bl"), Set{"blas"});
  EXPECT_TRUE(has(in_bash("headroom recipe run lenet5-g"), "lenet5-glyphs"));
}

TEST_F(Completion, ZshKnowsTheSame) {
  if (!installed("zsh")) GTEST_SKIP() << "no zsh here";
  script("zsh");
  EXPECT_TRUE(has(in_zsh("headroom \"\""), "train"));
  EXPECT_EQ(in_zsh("headroom machine \"\""), (Set{"list", "show"}));
  EXPECT_TRUE(has(in_zsh("headroom train --"), "--optimizer"));
  EXPECT_FALSE(has(in_zsh("headroom roofline --"), "--optimizer"));
  EXPECT_TRUE(has(in_zsh("headroom train --recipe \"\""), "lenet5-glyphs"));
  EXPECT_TRUE(has(in_zsh("headroom train \"\""), "lenet5"));
  EXPECT_TRUE(has(in_zsh("headroom train \"\""), "FILES"));
  EXPECT_TRUE(has(in_zsh("headroom predict lenet5 --machine \"\""), "h200"));
}

TEST_F(Completion, FishKnowsTheSame) {
  if (!installed("fish")) GTEST_SKIP() << "no fish here";
  script("fish");
  EXPECT_TRUE(has(in_fish("headroom "), "train"));
  EXPECT_EQ(in_fish("headroom machine "), (Set{"list", "show"}));
  EXPECT_TRUE(has(in_fish("headroom train --"), "--optimizer"));
  EXPECT_FALSE(has(in_fish("headroom roofline --"), "--optimizer"));
  EXPECT_TRUE(has(in_fish("headroom train --recipe "), "lenet5-glyphs"));
  EXPECT_TRUE(has(in_fish("headroom train l"), "lenet5"));
}

// The names of a user's machines are file names.
TEST_F(Completion, OddNamesDoNotReachTheShell) {
  const Json machine = succeed_json({"machine", "show", "h200"});
  for (const char* name : {"a $(touch oops)", "it's", "fine-1"})
    temporary_.put(fmt::format("cache/machines/{}.json", name), machine.dump());
  script("bash");
  const Set names = in_bash("headroom machine show \"\"");
  EXPECT_TRUE(has(names, "fine-1"));
  EXPECT_FALSE(has(names, "it's"));
  EXPECT_FALSE(std::filesystem::exists(file("oops")));
}

TEST_F(Completion, UnknownShellsAreRefused) { expect_refused({"completion", "tcsh"}, {"tcsh"}); }

}  // namespace
}  // namespace headroom::testing

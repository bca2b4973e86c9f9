// Text through the program: training, its figures, resuming, evaluation, and refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

const std::string kModel = "gpt2:size=tiny,width=16,heads=2,depth=1,context=16,vocab=128";

struct CliText : ProgramTest {
  // A text in which each letter determines the next, except for an occasional space.
  std::string text(std::size_t size) const {
    std::string bytes = "a";
    std::uint32_t random = 7;
    while (bytes.size() < size) {
      random = random * 1664525 + 1013904223;
      const int last = bytes.back() == ' ' ? 0 : bytes.back() - 'a';
      bytes += random >> 28 == 0 ? ' ' : static_cast<char>('a' + (5 * last + 3) % 26);
    }
    return bytes;
  }
  Words train(const Words& more, const std::string& data = "text:book",
              const std::string& batch = "8") const {
    Words words = {"train", kModel, "--data", data, "--batch", batch, "--lr", "0.02"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(CliText, LearnsAndSaysHowWell) {
  put("book", text(6000));
  const Json json = succeed_json(train({"--epochs", "4", "--save", "w.safetensors"}));
  EXPECT_NEAR(json["first_loss"].get<double>(), std::log(128.0), 0.2) << "it knows nothing at first";
  const double loss = json["test_loss"];
  EXPECT_LT(loss, 1.5) << "letters as likely as each other would be 3.3";
  EXPECT_NEAR(json["text"]["test"]["bits_per_byte"].get<double>(), loss / std::log(2.0), 1e-9);
  EXPECT_NEAR(json["text"]["test"]["perplexity"].get<double>(), std::exp(loss), 1e-9 * std::exp(loss));
  EXPECT_NEAR(json["tokens_per_s"].get<double>(), 16 * json["images_per_s"].get<double>(), 1e-3);
  EXPECT_GT(json["accuracy"]["test"].get<double>(), 0.6);
  EXPECT_LT(json["accuracy"]["test"].get<double>(), 1);

  const Json again =
      succeed_json({"eval", kModel, "--data", "text:book", "--batch", "8", "--weights", "w.safetensors"});
  EXPECT_NEAR(again["loss"].get<double>(), loss, 1e-6);
  EXPECT_NEAR(again["accuracy"]["test"].get<double>(), json["accuracy"]["test"].get<double>(), 1e-9);

  const Outcome said = succeed(train({"--epochs", "1"}));
  for (const char* part : {"bits per byte", "perplexity", "tokens/s", "attention"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << "\n" << said.out;
}

// Written to a file and read again, it is the same network and learns the same.
TEST_F(CliText, NetworksFromFilesLearnToo) {
  put("book", text(3000));
  succeed({"model", "export", kModel, "-o", "written.onnx"});
  const Words settings = {"--data",      "text:book", "--batch",        "8",   "--epochs",    "1",
                          "--optimizer", "sgd",       "--weight-decay", "0",   "--clip-norm", "0",
                          "--lr",        "0.1",       "--precision",    "fp64"};
  const Json own = succeed_json(with({"train", kModel}, settings)),
             read = succeed_json(with({"train", "written.onnx"}, settings));
  EXPECT_NEAR(read.at("first_loss"), own.at("first_loss").get<double>(), 1e-6);
  EXPECT_NEAR(read.at("last_loss"), own.at("last_loss").get<double>(), 1e-5);
  EXPECT_NEAR(read.at("accuracy").at("test"), own.at("accuracy").at("test").get<double>(), 1e-2);
  EXPECT_LT(read.at("last_loss"), read.at("first_loss"));
  EXPECT_NEAR(read.at("text").at("test").at("perplexity"),
              own.at("text").at("test").at("perplexity").get<double>(), 1e-3);
}

// Trained on a text in which each letter determines the next, it continues in the same way, also beyond its
// context of 16.
TEST_F(CliText, Generates) {
  put("book", text(6000));
  succeed(train({"--epochs", "4", "--save", "w.safetensors"}));
  const Words usual = {"generate", kModel, "--weights", "w.safetensors", "--tokens", "40"};
  auto generate = [&](Words more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return succeed_json(more);
  };
  const std::string prompt = text(6000).substr(0, 12);
  const Json greedy = generate({"--prompt", prompt, "--temperature", "0"});
  const std::string answer = greedy["text"];
  ASSERT_EQ(answer.size(), 40u);
  int right = 0;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const char before = i == 0 ? prompt.back() : answer[i - 1];
    right += answer[i] == 'a' + (5 * (before == ' ' ? 0 : before - 'a') + 3) % 26;
  }
  EXPECT_GE(right, 36) << answer;
  EXPECT_EQ(greedy["tokens"].size(), 40u);
  EXPECT_EQ(generate({"--prompt", prompt, "--temperature", "0"})["text"], answer);
  const Json drawn = generate({"--prompt", prompt, "--temperature", "3", "--seed", "1"});
  EXPECT_EQ(generate({"--prompt", prompt, "--temperature", "3", "--seed", "1"})["text"], drawn["text"]);
  EXPECT_NE(generate({"--prompt", prompt, "--temperature", "3", "--seed", "2"})["text"], drawn["text"]);
  EXPECT_EQ(generate({"--prompt", prompt, "--temperature", "3", "--top-k", "1"})["text"], answer);

  std::string numbers;
  for (const char c : prompt) numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", int(c));
  EXPECT_EQ(generate({"--prompt-tokens", numbers, "--temperature", "0"})["tokens"], greedy["tokens"]);
}

TEST_F(CliText, GenerateRefusesWhatItCannotContinue) {
  expect_refused({"generate", kModel}, {"--prompt"});
  expect_refused({"generate", kModel, "--prompt", "\xc3\xa9"}, {"token 195"});
  expect_refused({"generate", kModel, "--prompt-tokens", "1,500"}, {"token 500"});
  expect_refused({"generate", "lenet5", "--prompt", "a"}, {"does not score the next token"});
  expect_refused({"generate", kModel, "--prompt", "a", "--temperature", "-1"}, {"--temperature is -1"});
  expect_refused({"generate", "gpt2:size=tiny,depth=1,vocab=300", "--prompt", "a"}, {"--prompt-tokens"});
}

TEST_F(CliText, IsTimedOnRandomTokens) {
  const Json json = succeed_json({"bench", "nets", kModel, "--batch", "4", "--rounds", "1"});
  EXPECT_GT(json["convnets"][0]["separate_loops"]["forward_ms"].get<double>(), 0) << json.dump();
  const Json forward = succeed_json({"bench", "forward", kModel, "--batch", "4", "--seconds", "0.1"});
  EXPECT_GT(forward.size(), 0u);
}

TEST_F(CliText, ResumesToTheSameBits) {
  put("book", text(3000));
  const Words rate = {"--schedule", "constant", "--warmup", "0"};  // the same for any number of epochs
  auto train_for = [&](const Words& more) { succeed(train(with(rate, more))); };
  train_for({"--epochs", "2", "--save", "whole.safetensors"});
  train_for({"--epochs", "1", "--checkpoint-dir", "run", "--checkpoint-every", "5"});
  train_for(
      {"--epochs", "2", "--checkpoint-dir", "run", "--resume", "auto", "--save", "resumed.safetensors"});
  EXPECT_EQ(read_file(file("whole.safetensors")), read_file(file("resumed.safetensors")));
  expect_refused(train({"--epochs", "3", "--checkpoint-dir", "run", "--resume", "auto"}),
                 {"its schedule is constant, not cosine:min=0 over 3 epochs, warm-up 0.15"});
}

TEST_F(CliText, WrongRequests) {
  put("book", text(600));
  put("short", "too short");
  expect_refused(train({}, "text:short"), {"short", "9 bytes", "17"});
  expect_refused(train({}, "text:none"), {"none"});
  expect_refused(train({}, "text"), {"does not name a file"});
  expect_refused(train({}, "glyphs"), {"reads text", "text:FILE"});
  expect_refused({"train", "lenet5", "--data", "text:book"}, {"reads images, not text"});
  expect_refused({"train", "gpt2:size=tiny,context=16,vocab=100", "--data", "text:book", "--batch", "2"},
                 {"100", "vocab="});
  expect_refused({"train", "gpt2:size=tiny,heads=3", "--data", "text:book"}, {"128", "3 heads"});
  expect_refused(train({}, "text:book", "1000"), {"1,000"});
  expect_refused({"model", "show", "vit:input=30"}, {"30x30", "16x16"});
  put("net.json", R"({"input": [16], "layers": [{"type": "embedding", "name": "e", "tokens": 128, "width": 8},
      {"type": "mean_tokens"}, {"type": "linear", "units": 128}]})");
  expect_refused({"train", "net.json", "--data", "text:book", "--batch", "2"}, {"1 answers", "16 labels"});
}

}  // namespace
}  // namespace headroom::testing

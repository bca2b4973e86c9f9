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

TEST_F(CliText, ResumesToTheSameBits) {
  put("book", text(3000));
  succeed(train({"--epochs", "2", "--save", "whole.safetensors"}));
  succeed(train({"--epochs", "1", "--checkpoint-dir", "run", "--checkpoint-every", "5"}));
  succeed(train(
      {"--epochs", "2", "--checkpoint-dir", "run", "--resume", "auto", "--save", "resumed.safetensors"}));
  EXPECT_EQ(read_file(file("whole.safetensors")), read_file(file("resumed.safetensors")));
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

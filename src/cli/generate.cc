// The verb generate: continues a text with a trained network.
#include "train/generate.h"

#include <chrono>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"

namespace headroom::cli {
namespace {

constexpr std::int64_t kBytes = 256;  // networks trained on text:FILE have a token for every byte

struct GenerateRequest {
  Common common;
  std::string model, weights, prompt, prompt_tokens;
  std::int64_t tokens = 200;
  TokenChoice choice;
};

void require_sound(const GenerateRequest& r) {
  if (r.prompt.empty() == r.prompt_tokens.empty())
    reject(Hint{"--prompt 'Once upon'"}, "generate needs either --prompt or --prompt-tokens");
  if (r.tokens < 1 || r.tokens > 1'000'000)
    reject("--tokens is {}; it must lie between 1 and 1,000,000", r.tokens);
  if (!(r.choice.temperature >= 0 && r.choice.temperature <= 100))
    reject("--temperature is {}; it must lie between 0 and 100", r.choice.temperature);
  if (r.choice.top < 0) reject("--top-k is {}; it must not be negative", r.choice.top);
}

std::vector<std::int32_t> prompt_of(const GenerateRequest& r, const Generator& generator) {
  std::vector<std::int32_t> tokens;
  if (!r.prompt.empty() && generator.vocabulary() > kBytes)
    reject(Hint{"encode the text elsewhere and give --prompt-tokens 464,2068,…; the answer is numbers, too"},
           "model '{}' has {} tokens: which text they stand for is not part of the network", r.model,
           generator.vocabulary());
  for (const char c : r.prompt) tokens.push_back(static_cast<unsigned char>(c));
  const auto numbers = r.prompt_tokens.empty() ? std::vector<std::string>() : split(r.prompt_tokens, ',');
  for (const std::string& text : numbers)
    tokens.push_back(static_cast<std::int32_t>(parse_int(text, "--prompt-tokens")));
  for (const std::int32_t token : tokens)
    if (token < 0 || token >= generator.vocabulary())
      reject("token {} of the prompt is not one of the {} that '{}' knows", token, generator.vocabulary(),
             r.model);
  return tokens;
}

// A terminal obeys control characters, so only line breaks and tabs are printed as they are.
std::string text_of(std::int32_t token) {
  const auto byte = static_cast<unsigned char>(token);
  const bool plain = byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  return plain ? std::string(1, static_cast<char>(byte)) : fmt::format("\\x{:02x}", byte);
}

void run(const GenerateRequest& r) {
  require_sound(r);
  const auto device = r.common.open();
  const Net net = find_net(adopted(r.model, r.weights));
  Engine engine(net, *device, r.common.engine_options());
  TokenChoice choice = r.choice;
  choice.seed = r.common.seed;
  Generator generator(engine, choice);
  std::vector<std::int32_t> tokens = prompt_of(r, generator);
  const auto prompt = static_cast<std::ptrdiff_t>(tokens.size());
  if (!r.weights.empty())
    load(engine, r.weights);
  else if (!is_onnx_name(r.model))
    note(fmt::format("headroom: no --weights: '{}' runs with its initial weights, from --seed {}\n", net.name,
                     r.common.seed));
  const bool as_text = !r.prompt.empty();
  auto shown = [&](std::int32_t token) { return as_text ? text_of(token) : fmt::format(" {}", token); };
  if (!r.common.json) print(r.prompt);
  const auto begin = std::chrono::steady_clock::now();
  std::string answer;
  for (std::int64_t i = 0; i < r.tokens; ++i) {
    tokens.push_back(generator.next(tokens));
    answer += shown(tokens.back());
    if (!r.common.json) print(shown(tokens.back()));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!r.common.json) {
    print("\n");
    return note(fmt::format("{} tokens in {} ({:.1f} tokens/s), each with a context of {}\n",
                            with_commas(r.tokens), human_seconds(seconds), double(r.tokens) / seconds,
                            generator.context()));
  }
  Json json = {{"model", net.name},
               {"tokens", std::vector<std::int32_t>(tokens.begin() + prompt, tokens.end())},
               {"seconds", seconds},
               {"tokens_per_s", double(r.tokens) / seconds},
               {"context", generator.context()}};
  if (as_text) json["prompt"] = r.prompt, json["text"] = answer;
  print_json(json);
}

}  // namespace

void add_generate(Command app) {
  auto r = std::make_shared<GenerateRequest>();
  Command verb = app.verb("generate", "continue a text with a network trained on text");
  verb.required("model", r->model, "gpt2 with options, a net.json or an ONNX file");
  verb.option("--weights", r->weights, "trained weights: safetensors");
  verb.option("--prompt", r->prompt, "the text to continue");
  verb.option("--prompt-tokens", r->prompt_tokens, "the same as numbers, comma-separated; prints numbers");
  verb.option("--tokens", r->tokens, "how many tokens to add");
  verb.option("--temperature", r->choice.temperature, "0: always the likeliest token; higher: bolder");
  verb.option("--top-k", r->choice.top, "draw among this many of the likeliest; 0: all");
  add_run_options(verb, r->common, Explains::no);
  verb.example("headroom generate gpt2:size=tiny --weights w.safetensors --prompt 'It was'");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli

#pragma once

#include <optional>
#include <vector>

#include "train/inference.h"

namespace headroom {

// How the next token is drawn from the scores.
struct TokenChoice {
  double temperature = 0.8;  // 0: always the likeliest
  std::int64_t top = 0;      // draw among this many of the likeliest; 0: all
  std::uint64_t seed = 0;
};

// Continues a text with a network that scores the next token at every place, over the weights of an engine.
// Each token costs a forward pass over the whole context.
class Generator {
 public:
  // Rejects networks of another kind.
  Generator(Engine& engine, const TokenChoice& choice);

  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t context() const { return context_; }  // tokens the network sees at once, the latest ones

  // The token after these, of which there must be at least one.
  std::int32_t next(const std::vector<std::int32_t>& tokens);

 private:
  std::int32_t choose(std::vector<double> scores, std::uint64_t place) const;

  Inference inference_;
  TokenChoice choice_;
  std::int64_t context_ = 0, vocabulary_ = 0;
};

}  // namespace headroom

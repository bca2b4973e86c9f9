#include "models/transformers.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace headroom {
namespace {

constexpr double kDeviation = 0.02;  // of initial weights, in both papers' programs

struct TransformerBlock {
  std::int64_t width, heads, hidden, depth;
  bool causal;
  std::string gelu;  // "none", or "tanh" for its approximation
  double epsilon, dropout;
};

Linear dense(std::int64_t units, double deviation = kDeviation) {
  return {.units = units, .bias = true, .activation = {}, .init = "normal", .init_scale = deviation};
}

// Each half reads a normalised copy of the stream and adds its result to it. Returns the stream's name.
std::string add_block(Net& net, const std::string& name, const std::string& from, const TransformerBlock& b) {
  // Keeps the stream's deviation constant with depth: every block adds to it twice.
  const double last = b.causal ? kDeviation / std::sqrt(2.0 * double(b.depth)) : kDeviation;
  auto joined = [&](const std::string& sum, const std::string& stream, std::string branch) {
    if (b.dropout > 0) {
      net.dropout(branch + ".dropout", b.dropout);
      branch += ".dropout";
    }
    net.add(sum, stream, branch);
  };
  const LayerNorm norm{.axis = -1, .epsilon = b.epsilon, .activation = {}};
  net.layer_norm(name + ".norm1", norm).reads(from);
  net.attention(name + ".attention", {.heads = b.heads,
                                      .causal = b.causal,
                                      .bias = true,
                                      .init = "normal",
                                      .init_scale = kDeviation,
                                      .out_init_scale = last});
  joined(name + ".add1", from, name + ".attention");
  net.layer_norm(name + ".norm2", norm);
  net.linear(name + ".fc1", dense(b.hidden));
  net.gelu(name + ".gelu", b.gelu);
  net.linear(name + ".fc2", dense(b.width, last));
  joined(name + ".add2", name + ".add1", name + ".fc2");
  return name + ".add2";
}

std::string add_blocks(Net& net, std::string from, const TransformerBlock& block) {
  for (std::int64_t i = 1; i <= block.depth; ++i)
    from = add_block(net, fmt::format("block{}", i), from, block);
  return from;
}

double dropout_of(ModelOptions& options, double usual) {
  const double rate = options.real("dropout", usual);
  if (!(rate >= 0 && rate < 1)) reject("dropout is {}; it must be at least 0 and below 1", rate);
  return rate;
}

void require_heads(const char* model, const TransformerBlock& b) {
  if (b.width % b.heads != 0)
    reject(Hint{"width must be a multiple of heads"}, "{}: a width of {} cannot be split into {} heads",
           model, b.width, b.heads);
}

}  // namespace

// "An Image is Worth 16x16 Words": patches are the words, and the classifier reads a learned token in front
// of them.
Net make_vit(ModelOptions& options) {
  const bool base = options.choice("size", {"tiny", "base"}) == "base";
  TransformerBlock b{.width = options.integer("width", base ? 768 : 192),
                     .heads = options.integer("heads", base ? 12 : 3),
                     .hidden = 0,
                     .depth = options.integer("depth", 12),
                     .causal = false,
                     .gelu = "none",
                     .epsilon = 1e-6,
                     .dropout = dropout_of(options, 0)};
  b.hidden = options.integer("hidden", 4 * b.width);
  require_heads("vit", b);
  const auto sides = options.integers("input", {224});
  const std::int64_t rows = sides.front(), columns = sides.back(), patch = options.integer("patch", 16);
  if (sides.size() > 2) reject("vit's option input takes one side, or rows x columns");
  if (rows % patch != 0 || columns % patch != 0)
    reject(Hint{"take another patch= or input="}, "vit: images of {}x{} cannot be cut into patches of {}x{}",
           rows, columns, patch, patch);
  const std::int64_t patches = rows / patch * (columns / patch);
  const bool mean = options.choice("pool", {"token", "mean"}) == "mean";

  Net net("vit", {options.integer("channels", 3), rows, columns});
  net.conv2d("patch", {.maps = b.width, .kernel = patch, .stride = patch});
  net.reshape("grid", {b.width, patches});
  net.transpose("tokens", {1, 0});
  if (!mean) net.class_token("class");
  net.positions("positions");
  if (b.dropout > 0) net.dropout("dropout", b.dropout);
  add_blocks(net, net.layers.back().name, b);
  net.layer_norm("norm", {.axis = -1, .epsilon = b.epsilon, .activation = {}});
  if (mean)
    net.mean_tokens("pool");
  else
    net.take_token("pool");
  return net.linear("head", dense(options.integer("classes", 1000)));
}

// GPT-2: a stack of causal blocks over tokens. Its last product uses the weights of the first layer.
Net make_gpt2(ModelOptions& options) {
  const bool small = options.choice("size", {"small", "tiny"}) == "small";
  TransformerBlock b{.width = options.integer("width", small ? 768 : 128),
                     .heads = options.integer("heads", small ? 12 : 4),
                     .hidden = 0,
                     .depth = options.integer("depth", small ? 12 : 4),
                     .causal = true,
                     .gelu = "tanh",
                     .epsilon = 1e-5,
                     .dropout = dropout_of(options, 0)};
  b.hidden = options.integer("hidden", 4 * b.width);
  require_heads("gpt2", b);
  Net net("gpt2", {options.integer("context", small ? 1024 : 128)});
  net.embedding("tokens", options.integer("vocab", small ? 50257 : 256), b.width);
  net.positions("positions");
  if (b.dropout > 0) net.dropout("dropout", b.dropout);
  add_blocks(net, net.layers.back().name, b);
  net.layer_norm("norm", {.axis = -1, .epsilon = b.epsilon, .activation = {}});
  return net.unembedding("logits", "tokens");
}

std::vector<ZooEntry> transformer_entries() {
  // DeiT's settings, and nanoGPT's for a small network.
  const TrainDefaults steady{.batch = 64,
                             .epochs = 10,
                             .lr = 0.0005,
                             .momentum = 0,
                             .weight_decay = 0.05,
                             .optimizer = "adamw",
                             .schedule = "cosine",
                             .warmup = 0.05,
                             .clip_norm = 1};
  TrainDefaults words = steady;
  words.batch = 16, words.epochs = 1, words.lr = 0.001, words.weight_decay = 0.1;
  words.optimizer = "adamw:beta2=0.95";
  return {
      {"vit",
       "Vision Transformer",
       "size=tiny|base, width=192, depth=12, heads=3, hidden=4 width, patch=16, pool=token|mean, dropout=0, "
       "input=224 (rows x columns), channels=3, classes=1000",
       make_vit,
       steady,
       {"channels", "image", "classes"}},
      {"gpt2",
       "GPT-2, for text",
       "size=small|tiny, width=768, depth=12, heads=12, hidden=4 width, context=1024, vocab=50257, dropout=0",
       make_gpt2,
       words,
       {}},
  };
}

}  // namespace headroom

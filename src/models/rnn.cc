// Recurrent networks: an image is a sequence of its rows, a text one of its bytes.
#include "base/error.h"
#include "models/zoo.h"

namespace headroom {
namespace {

void add_cells(Net& net, const std::string& cell, const Recurrent& options) {
  if (cell == "lstm")
    net.lstm("cells", options);
  else if (cell == "gru")
    net.gru("cells", options);
  else
    net.rnn("cells", options);
}

Linear scores(std::int64_t units) { return {.units = units, .init = "normal", .init_scale = 0.01}; }

// The next byte at every place.
Net of_text(ModelOptions& options, const std::string& cell, const Recurrent& cells) {
  if (cells.bidirectional)
    reject(Hint{"leave bidirectional out"},
           "rnn: a bidirectional network of text would read the bytes that it has to predict");
  const std::int64_t vocab = options.integer("vocab", 256);
  Net net("rnn", {options.integer("context", 128)});
  net.embedding("tokens", vocab, options.integer("width", cells.hidden));
  add_cells(net, cell, cells);
  return net.linear("out", scores(vocab));
}

Net of_images(ModelOptions& options, const std::string& cell, Recurrent cells) {
  const auto sides = options.integers("input", {28});
  if (sides.size() > 2) reject("rnn's option input takes one side, or rows x columns");
  const std::int64_t channels = options.integer("channels", 1), rows = sides.front(), columns = sides.back();
  Net net("rnn", {channels, rows, columns});
  if (channels > 1) net.transpose("rows_first", {1, 0, 2});
  net.reshape("rows", {rows, channels * columns});
  cells.output = "last";
  add_cells(net, cell, cells);
  return net.linear("out", scores(options.integer("classes", 10)));
}

}  // namespace

Net make_rnn(ModelOptions& options) {
  const std::string cell = options.choice("cell", {"lstm", "gru", "plain"});
  const Recurrent cells{.hidden = options.integer("hidden", 128),
                        .layers = options.integer("layers", 1),
                        .bidirectional = options.flag("bidirectional", false)};
  const bool text = options.choice("data", {"images", "text"}) == "text";
  return text ? of_text(options, cell, cells) : of_images(options, cell, cells);
}

}  // namespace headroom

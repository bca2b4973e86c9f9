#include "data/broadcast.h"

#include "base/error.h"

namespace headroom {
namespace {

// Sends on the first rank and receives on the others.
class Channel {
 public:
  explicit Channel(Communicator& ranks) : ranks_(ranks) {}

  template <class Int>
  void number(Int& value) {
    auto wide = static_cast<std::int64_t>(value);
    ranks_.broadcast(&wide, sizeof wide);
    value = static_cast<Int>(wide);
  }
  template <class Container>  // of contiguous plain elements
  void list(Container& values) {
    std::size_t count = values.size();
    number(count);
    values.resize(count);
    ranks_.broadcast(values.data(), count * sizeof(*values.data()));
  }
  void split(Split& s) {
    std::vector<std::int64_t> image = s.image.vector();
    list(image);
    s.image = Shape(image);
    list(s.pixels), list(s.labels), list(s.values), list(s.text);
    list(s.targets), number(s.targets_each);
  }

 private:
  Communicator& ranks_;
};

}  // namespace

Dataset broadcast_dataset(Communicator& ranks, const std::function<Dataset()>& read) {
  Channel channel(ranks);
  Dataset data;
  std::string problem, hint;
  Blame blame = Blame::run;
  if (ranks.rank() == 0) try {
      data = read();
    } catch (const Error& error) {
      problem = error.what(), hint = error.hint(), blame = error.blame();
    }
  channel.list(problem), channel.list(hint), channel.number(blame);
  if (!problem.empty()) throw Error(blame, problem, Hint{hint});
  channel.list(data.name), channel.number(data.classes);
  channel.split(data.train), channel.split(data.test);
  std::size_t names = data.class_names.size();
  channel.number(names);
  data.class_names.resize(names);
  for (std::string& name : data.class_names) channel.list(name);
  return data;
}

}  // namespace headroom

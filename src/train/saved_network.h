#pragma once

#include <map>
#include <optional>
#include <string>

#include "headroom/net.h"

namespace headroom {

// The network that weights were trained in, stored beside them in the file's metadata. The same tensors give
// other numbers in a network with other activations or other pooling, and nothing else would show it.
struct SavedNetwork {
  std::string spec;        // "lenet5:activation=tanh,pool=avg"; empty: not from the zoo
  std::optional<Net> net;  // absent: an imported network, or a file of another program

  std::string name() const;  // for messages
};

using Metadata = std::map<std::string, std::string>;
void put_network(Metadata& metadata, const Net& net, const std::string& spec);
SavedNetwork network_in(const Metadata& metadata, const std::string& where);

// Why the weights of `saved` would give other numbers in `net`; empty if they would not. Initial weights, the
// loss, the number of classes and whatever only training uses do not matter here.
std::string difference_of(const Net& saved, const Net& net);

}  // namespace headroom

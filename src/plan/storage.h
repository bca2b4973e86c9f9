#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"

namespace headroom {

// Parameters, states, constants and scalars of a model, by name. Its plans share them, and they outlive a
// step.
class Storage {
 public:
  explicit Storage(Device& device) : device_(&device) {}

  // Allocates every stored value of a graph that does not exist yet and initialises it.
  void prepare(const Graph& graph, std::uint64_t seed);

  void* data(const std::string& name) const { return entry(name).buffer.data(); }
  const TensorType& type(const std::string& name) const { return entry(name).type; }
  Role role(const std::string& name) const { return entry(name).role; }
  const std::optional<Part>& part(const std::string& name) const { return entry(name).part; }
  bool has(const std::string& name) const { return entries_.count(name) > 0; }
  std::vector<std::string> names(Role role) const;  // in order of preparation

  void write(const std::string& name, const void* host, std::size_t bytes);
  void read(const std::string& name, void* host, std::size_t bytes) const;
  // Queued, so that a step does not wait for its scalars.
  void set_scalar(const std::string& name, double value);

  Device& device() const { return *device_; }
  std::size_t bytes() const;

 private:
  struct Entry {
    TensorType type;
    Role role;
    Buffer buffer;
    std::optional<Part> part = {};
  };
  const Entry& entry(const std::string& name) const;

  Device* device_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> order_;
};

// Initial values of a parameter, as fp64: a pure function of (initializer, shape, seed, name).
std::vector<double> initial_values(const Value& value, std::uint64_t seed);

}  // namespace headroom

#include "plan/storage.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <span>

#include "base/random.h"
#include "graph/part.h"

namespace headroom {
namespace {

constexpr std::size_t kManyDraws = 1 << 15;  // enough work to wake other threads

// FNV-1a: a stable number for a name, so that a new layer does not change the random numbers of the others.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001B3ull;
  return h;
}

// Weights of the perceptron course: a libstdc++ generator seeded with the layer number, column by column.
std::vector<double> layer_seeded_normal(const Value& value) {
  const std::int64_t rows = value.type.shape[0], columns = value.type.shape.numel() / rows;
  std::mt19937_64 generator(value.init.index);
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      out[static_cast<std::size_t>(r * columns + c)] = value.init.scale * normal(generator);
  return out;
}

// Orthonormal rows (or columns, if there are fewer). Each random normal vector is orthogonalised against the
// earlier ones twice, because once leaves the rounding error of the subtraction.
std::vector<double> orthonormal(const Shape& shape, const Philox& random) {
  const auto rows = static_cast<std::size_t>(shape[0]);
  const std::size_t columns = static_cast<std::size_t>(shape.numel()) / rows;
  const std::size_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> q(count * length);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = random.normal(i);
  auto dot = [&](std::size_t a, std::size_t b) {
    return std::inner_product(&q[a * length], &q[a * length] + length, &q[b * length], 0.0);
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < i; ++j) {
        const double along = dot(i, j);
        for (std::size_t k = 0; k < length; ++k) q[i * length + k] -= along * q[j * length + k];
      }
    const double size = std::sqrt(dot(i, i));
    for (std::size_t k = 0; k < length; ++k) q[i * length + k] /= size;
  }
  if (rows <= columns) return q;
  std::vector<double> turned(q.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < length; ++k) turned[k * columns + i] = q[i * length + k];
  return turned;
}

// Initial values that can be drawn one by one, in any order.
class Draws {
 public:
  static bool takes(const Value& value) {
    using Kind = Initializer::Kind;
    const Kind kind = value.init.kind;
    return !value.part && kind != Kind::layer_seeded_normal && kind != Kind::orthonormal &&
           kind != Kind::from_data;
  }
  Draws(const Value& value, std::uint64_t seed) : init_(value.init), random_(seed, hash_of(value.name)) {
    const Shape& shape = value.type.shape;
    fan_in_ = shape.rank() > 1 ? double(shape.numel() / shape[0]) : double(shape.numel());
    fan_out_ = double(shape.rank() > 1 ? shape.numel() / shape[1] : shape.numel());
  }
  double operator()(std::size_t i) const {
    using Kind = Initializer::Kind;
    switch (init_.kind) {
      case Kind::normal:
        return init_.scale * random_.normal(i);
      case Kind::uniform:
        return init_.scale * (2 * random_.uniform(i) - 1);
      case Kind::fan_in:
        return (2 * random_.uniform(i) - 1) / std::sqrt(fan_in_);
      case Kind::xavier:
        return std::sqrt(6 / (fan_in_ + fan_out_)) * (2 * random_.uniform(i) - 1);
      case Kind::he:
        return std::sqrt(2 / fan_in_) * random_.normal(i);
      default:
        return init_.scale;
    }
  }
  // The values from `first` on.
  template <class T>
  void fill(std::span<T> to, std::size_t first) const {
#pragma omp parallel for if (to.size() > kManyDraws)
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>((*this)(first + i));
  }

 private:
  const Initializer& init_;
  Philox random_;
  double fan_in_ = 1, fan_out_ = 1;
};

// Draws and uploads a stretch at a time: large weights need no second copy in the host's memory.
template <class T>
void upload_draws(Device& device, const Value& value, std::uint64_t seed, void* to) {
  constexpr std::size_t kStretch = 1 << 20;
  const Draws draws(value, seed);
  const auto all = static_cast<std::size_t>(value.type.shape.numel());
  std::vector<T> stretch(std::min(all, kStretch));
  for (std::size_t first = 0; first < all; first += kStretch) {
    const std::span<T> part = std::span(stretch).first(std::min(kStretch, all - first));
    draws.fill(part, first);
    device.upload(static_cast<T*>(to) + first, part.data(), part.size_bytes());
  }
}

// Uploads without conversion if the types agree, so that gigabytes of weights are not copied again.
void upload_data(Device& device, const Value& value, void* to) {
  const ConstantData& elements = *value.init.data;
  if (elements.type.shape != value.type.shape)
    fail("'{}' is {} and was given as {}", value.name, value.type.shape.str(), elements.type.shape.str());
  if (elements.type.dtype == value.type.dtype && !elements.repeated)
    return device.upload(to, elements.data.get(), static_cast<std::size_t>(value.type.bytes()));
  std::vector<std::byte> converted(static_cast<std::size_t>(value.type.bytes()));
  elements.convert(value.type.dtype, converted.data());
  device.upload(to, converted.data(), converted.size());
}

}  // namespace

std::vector<double> initial_values(const Value& value, std::uint64_t seed) {
  if (value.part) {  // the same numbers on any rank
    Value whole = value;
    whole.part.reset();
    whole.type.shape = value.part->whole;
    const std::vector<double> all = initial_values(whole, seed);
    const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
    const auto cut = cut_part(*value.part, sizeof(double), {bytes, bytes + all.size() * sizeof(double)});
    const auto* own = reinterpret_cast<const double*>(cut.data());
    return {own, own + cut.size() / sizeof(double)};
  }
  using Kind = Initializer::Kind;
  const Shape& shape = value.type.shape;
  if (value.init.kind == Kind::layer_seeded_normal) return layer_seeded_normal(value);
  if (value.init.kind == Kind::from_data) return value.init.data->reals();
  if (value.init.kind == Kind::orthonormal) return orthonormal(shape, Philox(seed, hash_of(value.name)));
  std::vector<double> out(static_cast<std::size_t>(shape.numel()));
  Draws(value, seed).fill(std::span(out), 0);
  return out;
}

void Storage::prepare(const Graph& graph, std::uint64_t seed) {
  for (Role role : {Role::parameter, Role::state, Role::constant, Role::scalar})
    for (ValueId id : graph.with_role(role)) {
      const Value& value = graph.value(id);
      if (value.producer != kNone) continue;
      if (has(value.name)) {
        if (type(value.name) != value.type)
          fail("two plans store '{}' as {} and as {}", value.name, type(value.name).shape.str(),
               value.type.shape.str());
        continue;
      }
      Entry entry{value.type, role, device_->allocate(static_cast<std::size_t>(value.type.bytes())),
                  value.part};
      if (value.init.kind == Initializer::Kind::from_data) {
        upload_data(*device_, value, entry.buffer.data());
      } else {
        dispatch_float(value.type.dtype, [&]<class T>() {
          if (Draws::takes(value)) return upload_draws<T>(*device_, value, seed, entry.buffer.data());
          const std::vector<double> all = initial_values(value, seed);
          const std::vector<T> typed(all.begin(), all.end());
          device_->upload(entry.buffer.data(), typed.data(), typed.size() * sizeof(T));
        });
      }
      entries_.emplace(value.name, std::move(entry));
      order_.push_back(value.name);
    }
}

const Storage::Entry& Storage::entry(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) fail("storage does not hold '{}'", name);
  return it->second;
}

std::vector<std::string> Storage::names(Role role) const {
  std::vector<std::string> list;
  for (const std::string& name : order_)
    if (entries_.at(name).role == role) list.push_back(name);
  return list;
}

void Storage::write(const std::string& name, const void* host, std::size_t bytes) {
  if (bytes != static_cast<std::size_t>(type(name).bytes()))
    fail("'{}' takes {} bytes, not {}", name, type(name).bytes(), bytes);
  device_->upload(data(name), host, bytes);
}

// The runtime copies these few bytes before the call returns.
void Storage::set_scalar(const std::string& name, double value) {
  if (type(name).bytes() != sizeof value) fail("'{}' is not an fp64 scalar", name);
  device_->upload_async(data(name), &value, sizeof value, device_->stream());
}

void Storage::read(const std::string& name, void* host, std::size_t bytes) const {
  if (bytes != static_cast<std::size_t>(type(name).bytes()))
    fail("'{}' holds {} bytes, not {}", name, type(name).bytes(), bytes);
  device_->download(host, data(name), bytes);
}

std::size_t Storage::bytes() const {
  std::size_t total = 0;
  for (const auto& [name, entry] : entries_) total += entry.buffer.bytes();
  return total;
}

}  // namespace headroom

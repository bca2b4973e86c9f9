#include "train/unsharded.h"

#include "base/shares.h"
#include "graph/part.h"

namespace headroom {
namespace {

std::vector<std::byte> read_own(const Storage& storage, const std::string& name) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(storage.type(name).bytes()));
  storage.read(name, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

TensorType unsharded_type(const Engine& engine, const std::string& name) {
  TensorType type = engine.storage().type(name);
  if (const auto& part = engine.storage().part(name)) type.shape = part->whole;
  return type;
}

std::vector<std::byte> read_unsharded(const Engine& engine, const std::string& name) {
  const Storage& storage = engine.storage();
  std::vector<std::byte> own = read_own(storage, name);
  const auto& mine = storage.part(name);
  if (!mine) return own;
  const TensorType type = unsharded_type(engine, name);
  std::vector<std::byte> whole(static_cast<std::size_t>(type.bytes()));
  const Distribution ranks = engine.ranks();
  const bool flat = mine->axis < 0;  // optimizer state; layers are split along an axis
  const int parts = flat ? ranks.data_parts : ranks.model_parts;
  for (int r = 0; r < parts; ++r) {
    Part part = *mine;
    const Share share = share_of(flat ? type.shape.numel() : type.shape[part.axis], parts, r);
    part.first = share.first, part.count = share.count;
    const PartRuns runs = runs_of(part, size_of(type.dtype));
    std::vector<std::byte> piece = own;
    piece.resize(runs.count * runs.length);
    engine.groups()->world().broadcast(piece.data(), piece.size(), flat ? r * ranks.model_parts : r);
    paste_part(part, size_of(type.dtype), piece, whole);
  }
  return whole;
}

void write_unsharded(Engine& engine, const std::string& name, const std::vector<std::byte>& whole) {
  Storage& storage = engine.storage();
  const auto& part = storage.part(name);
  const auto own = part ? cut_part(*part, size_of(storage.type(name).dtype), whole) : whole;
  storage.write(name, own.data(), own.size());
}

}  // namespace headroom

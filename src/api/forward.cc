#include "api/forward.h"

#include <algorithm>
#include <bit>

namespace headroom {
namespace {

constexpr std::int64_t kLargestBatch = 256;

}  // namespace

Forward::Ready& Forward::ready(std::int64_t batch) {
  if (const auto it = ready_.find(batch); it != ready_.end()) return it->second;
  if (engine_.net().imported) require_complete(make_forward(engine_.net(), batch, DType::f32), engine_.net());
  BuildRequest request = build_request(engine_.options(), engine_.target(), Mode::infer, batch);
  request.fed_by_loader = true;
  Engine::Ready made = engine_.make_ready(request, arena_);
  const Program& program = made.program;
  const TensorType images = program.graph.value(program.images).type;
  const std::int64_t columns = program.graph.value(program.logits).type.shape.without_first().numel();
  return ready_
      .emplace(batch, Ready{program.images, program.logits, columns,
                            engine_.device().allocate(static_cast<std::size_t>(images.bytes())),
                            std::move(made.executor)})
      .first->second;
}

// Batches are powers of two, the last one padded with zeros: at most nine plans for any request.
Scores Forward::run(std::int64_t count, const std::function<void(std::int64_t, void*)>& fill) {
  const DType dtype = reads_tokens(engine_.net()) ? DType::i32 : master_of(engine_.options().precision);
  const std::size_t item = static_cast<std::size_t>(Shape(engine_.net().input).numel()) * size_of(dtype);
  Scores scores;
  scores.rows = count;
  std::vector<std::byte> items;
  for (std::int64_t first = 0; first < count; first += kLargestBatch) {
    const std::int64_t here = std::min(kLargestBatch, count - first);
    const auto batch = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(here)));
    Ready& r = ready(batch);
    items.assign(static_cast<std::size_t>(batch) * item, std::byte{0});
    for (std::int64_t i = 0; i < here; ++i)
      fill(first + i, items.data() + static_cast<std::size_t>(i) * item);
    engine_.device().upload(r.batch.data(), items.data(), items.size());
    r.executor->bind(r.images, r.batch.data());
    r.executor->run();
    const std::vector<double> outputs = r.executor->read(r.outputs);
    scores.columns = r.columns;
    for (std::int64_t i = 0; i < here * r.columns; ++i)
      scores.values.push_back(static_cast<float>(outputs[static_cast<std::size_t>(i)]));
  }
  return scores;
}

}  // namespace headroom

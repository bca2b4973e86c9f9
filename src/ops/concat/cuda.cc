#include <algorithm>

#include "ops/concat/concat.h"
#include "ops/cuda/copy.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace concat_cuda_cc {
namespace {

using cuda::RowPieces;

// As many pieces as one launch takes, and the tensor of each; -1 for zeros.
struct Launch {
  RowPieces pieces;
  int tensor[RowPieces::kMax] = {};
};

std::vector<Launch> launches_of(const ConcatPieces& all) {
  std::vector<Launch> list;
  std::int64_t at = 0;
  int tensor = 0;
  for (std::size_t i = 0; i < all.lengths.size(); at += all.lengths[i++]) {
    if (list.empty() || list.back().pieces.count == RowPieces::kMax) {
      list.emplace_back();
      list.back().pieces.rows = all.rows, list.back().pieces.row = all.row;
    }
    Launch& launch = list.back();
    launch.tensor[launch.pieces.count] = all.present[i] ? tensor++ : -1;
    launch.pieces.piece[launch.pieces.count++] = {nullptr, at, all.lengths[i]};
  }
  return list;
}

}  // namespace
}  // namespace concat_cuda_cc

Launcher prepare_concat_cuda(const Problem& p, const LaunchContext&) {
  using namespace concat_cuda_cc;
  const int bytes = static_cast<int>(size_of(p.outputs[0].dtype));
  return [launches = launches_of(concat_pieces(p)), bytes, cut = p.op == "split"](const LaunchArgs& a) {
    for (Launch launch : launches) {
      RowPieces& pieces = launch.pieces;
      for (int i = 0; i < pieces.count; ++i)
        if (launch.tensor[i] >= 0)  // inputs are not written to: join_pieces reads them
          pieces.piece[i].data =
              cut ? a.outputs[launch.tensor[i]] : const_cast<void*>(a.inputs[launch.tensor[i]]);
      if (cut)
        cuda::cut_pieces(bytes, pieces, a.inputs[0], cuda::stream_of(a));
      else
        cuda::join_pieces(bytes, pieces, a.outputs[0], cuda::stream_of(a));
    }
  };
}

}  // namespace headroom

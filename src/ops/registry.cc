// The one place where operators meet: a new folder under ops/ adds one line to kFolders. Compiled once for
// each level of processors (cmake/levels.cmake), like the kernels it lists.
#include "ops/activation/activation.h"
#include "ops/adaptive_pool/adaptive_pool.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/arg_max/arg_max.h"
#include "ops/attention/attention.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/bias_grad/bias_grad.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/classifier_head/classifier_head.h"
#include "ops/compare/compare.h"
#include "ops/concat/concat.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv3d/conv3d.h"
#include "ops/count_correct/count_correct.h"
#include "ops/cpu/simd.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/cumsum/cumsum.h"
#include "ops/dropout/dropout.h"
#include "ops/fp16_parts/fp16_parts.h"
#include "ops/gap/gap.h"
#include "ops/gather/gather.h"
#include "ops/gemm/gemm.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/integer_product/integer_product.h"
#include "ops/l2_penalty/l2_penalty.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/linear/linear.h"
#include "ops/local_contrast_norm/local_contrast_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/matmul/matmul.h"
#include "ops/mlp_classifier/mlp_classifier.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/non_zero/non_zero.h"
#include "ops/operator.h"
#include "ops/pad/pad.h"
#include "ops/pool/pool.h"
#include "ops/pool3d/pool3d.h"
#include "ops/quantize/quantize.h"
#include "ops/recurrent/recurrent.h"
#include "ops/reduce/reduce.h"
#include "ops/relayout/relayout.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/roi_align/roi_align.h"
#include "ops/scatter/scatter.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/squared_error/squared_error.h"
#include "ops/tally/tally.h"
#include "ops/top_k/top_k.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/updates/updates.h"
#include "ops/where/where.h"

#define HEADROOM_TEXT_OF(words) #words
#define HEADROOM_TEXT(words) HEADROOM_TEXT_OF(words)

namespace headroom {
namespace {

using Folder = std::vector<Operator> (*)();
// clang-format off
constexpr Folder kFolders[] = {
    activation_operators,
    adaptive_pool_operators,
    all_reduce_operators,
    arg_max_operators,
    attention_operators,
    batch_norm_operators,
    bias_grad_operators,
    binary_operators,
    cast_operators,
    classifier_head_operators,
    compare_operators,
    concat_operators,
    conv2d_operators,
    conv3d_operators,
    count_correct_operators,
    cross_entropy_operators,
    cumsum_operators,
    dropout_operators,
    fp16_parts_operators,
    gap_operators,
    gather_operators,
    gemm_operators,
    integer_product_operators,
    grid_sample_operators,
    l2_penalty_operators,
    layer_norm_operators,
    linear_operators,
    local_contrast_norm_operators,
    lrn_operators,
    matmul_operators,
    mlp_classifier_operators,
    non_max_suppression_operators,
    non_zero_operators,
    pad_operators,
    pool_operators,
    pool3d_operators,
    quantize_operators,
    recurrent_operators,
    reduce_operators,
    relayout_operators,
    reshape_operators,
    resize_operators,
    roi_align_operators,
    scatter_operators,
    slice_operators,
    softmax_operators,
    squared_error_operators,
    tally_operators,
    top_k_operators,
    transpose_operators,
    unary_operators,
    update_operators,
    where_operators,
};
// clang-format on

}  // namespace

// Each level was compiled for its own instructions.
static_assert(std::string_view(HEADROOM_TEXT(HEADROOM_LEVEL_NAME)) != "v2" || simd::kVectorBytes == 16);
static_assert(std::string_view(HEADROOM_TEXT(HEADROOM_LEVEL_NAME)) != "v3" || simd::kVectorBytes == 32);
static_assert(std::string_view(HEADROOM_TEXT(HEADROOM_LEVEL_NAME)) != "v4" || simd::kVectorBytes == 64);

namespace level_operators {

std::vector<Operator> HEADROOM_LEVEL_NAME() {  // operators.cc calls it
  std::vector<Operator> list;
  for (Folder folder : kFolders)
    for (Operator& op : folder()) list.push_back(std::move(op));
  return list;
}

}  // namespace level_operators
}  // namespace headroom

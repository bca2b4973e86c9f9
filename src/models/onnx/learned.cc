#include "models/onnx/learned.h"

#include <algorithm>
#include <array>

#include "models/onnx/contents.h"
#include "models/onnx/file.h"
#include "models/onnx/flow.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/paths.h"
#include "models/onnx/stored.h"

namespace headroom::onnx {
namespace {

using Ops = std::set<std::string_view>;

enum class Vote { weight, open, no };
struct Opinion {
  Vote vote = Vote::open;
  std::string reason = {};
};

constexpr const char* kMask = "a mask";
constexpr const char* kNormalises = "a constant that normalises the input";
constexpr const char* kStatistic = "a statistic: mean or deviation";
constexpr const char* kNumber = "a number of a formula";
constexpr const char* kWaves = "a table of sines and cosines, or its frequencies";
constexpr const char* kTable = "a table made by a formula";

bool is_product(const NodeProto* node) {
  static const Ops products = {"Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum"};
  return node != nullptr && products.contains(node->op_type());
}

bool is_wave(const Use& use) { return use.node->op_type() == "Sin" || use.node->op_type() == "Cos"; }
bool is_softmax(const Use& use) { return use.node->op_type() == "Softmax"; }

int varying_axes(const Shape& shape) {
  return static_cast<int>(std::ranges::count_if(shape.dims(), [](std::int64_t d) { return d > 1; }));
}

class Judge {
 public:
  Judge(const File& file, const std::vector<const NodeProto*>& order)
      : flow_(file.graph(), order), written_here_(file.model().producer_name() == kProducer) {}

  Opinion judge(const Stored& t) const {
    if (!flow_.gets_gradient(t.name)) return no(reason_without_gradient(t));
    if (written_here_ && !t.initializer) return no("a constant");  // see FileWriter::constant
    const std::vector<Path> paths = paths_of(flow_, t.name);
    if (paths.empty()) return no("it does not meet the data");
    Opinion refused;
    bool open = false;
    for (const Path& path : paths) {
      const Opinion opinion = at_meeting(t, path);
      if (opinion.vote == Vote::weight) return opinion;
      if (opinion.vote == Vote::open) open = true;
      if (opinion.vote == Vote::no) refused = opinion;
    }
    if (!open) return refused;
    if (t.generated) return no(kNumber);
    if (t.is_number()) return number(t, paths);
    return by_elements(t, paths);
  }

 private:
  static Opinion no(std::string reason) { return {Vote::no, std::move(reason)}; }

  std::string reason_without_gradient(const Stored& t) const {
    for (const Use& use : flow_.uses(t.name))
      if (use.node->op_type() == "BatchNormalization" && use.input >= 3) return "a running statistic";
    return "no gradient reaches it";
  }

  Opinion at_meeting(const Stored& t, const Path& path) const {
    const NodeProto& node = *path.meeting.node;
    const std::string& op = node.op_type();
    if (path.angle) return no(kWaves);
    if (path.weighs) return {Vote::weight};
    if (path.root) return no(kStatistic);
    if (maps_to_waves(node)) return no(kWaves);
    if (is_weight_input(op, path.meeting.input)) {
      if (is_identity_of_norm(t, path.meeting)) return no("a scale of one, or an offset of zero");
      return {path.moved ? Vote::weight : Vote::open};
    }
    if ((op == "Mul" || op == "MatMul" || op == "Einsum") && flow_.feeds(node.output(0), is_wave))
      return no(kWaves);
    if (op == "Max" || op == "Min" || op == "Clip") return no("a bound");
    if (op == "Pad") return no(kNumber);
    if ((op == "LSTM" || op == "GRU" || op == "RNN") && is_uniform(t.elements) && t.elements.real(0) == 0)
      return no("an initial state of zeros");
    if (const std::string data = flow_.data_input(node); !data.empty())
      if (const char* reason = as_scaling(t, path.meeting, data)) return no(reason);
    return {Vote::open};
  }

  // Sines and cosines of the network's input: Fourier features, whose frequencies are drawn once. A layer
  // with a sine as its activation has a bias, or no cosine.
  bool maps_to_waves(const NodeProto& node) const {
    if (!is_product(&node) || node.input_size() != 2) return false;
    const std::string data = flow_.data_input(node);
    const auto feeds = [&](std::string_view op) {
      return flow_.feeds(node.output(0), [&](const Use& use) { return use.node->op_type() == op; }, {"Mul"});
    };
    return !data.empty() && flow_.is_plain_input(data) && feeds("Sin") && feeds("Cos");
  }

  // Exporters write a normalisation without weights as one with ones and zeros, and a group normalisation as
  // an instance normalisation with ones and zeros before the real scale.
  bool is_identity_of_norm(const Stored& t, const Use& use) const {
    const std::string& op = use.node->op_type();
    if (!op.ends_with("Normalization") || (t.generated && op == "BatchNormalization")) return false;
    if (!is_uniform(t.elements) || t.elements.real(0) != (use.input == 1 ? 1 : 0)) return false;
    if (!t.initializer) return true;
    return op == "InstanceNormalization" && flow_.feeds(use.node->output(0), [&](const Use& after) {
      return after.node->op_type() == "Mul" && !flow_.is_data(after.node->input(1 - after.input));
    });
  }

  // Constants of (x - mean) / deviation, and of x * scale + offset if x is the input itself. Null: not one.
  const char* as_scaling(const Stored& t, const Use& use, const std::string& data) const {
    const std::string& op = use.node->op_type();
    if (!flow_.is_plain_input(data)) {
      if (op == "Sub" && use.input == 1 && is_divided(use.node->output(0))) return kStatistic;
      if (op == "Div" && use.input == 1 && is_centred(data)) return kStatistic;
      return nullptr;
    }
    const Shape& shape = t.elements.type.shape;
    if (varying_axes(shape) >= rank_of_input(data))
      return nullptr;  // x[:, None] - centres: one item with many
    if (op == "Mul" || ((op == "Sub" || op == "Div") && use.input == 1)) return kNormalises;
    if (op != "Add") return nullptr;
    // A table of positions varies along two axes.
    const bool shifts = varying_axes(shape) <= 1 && (is_scaled_input(data) || shifts_colors(shape, data));
    return shifts ? kNormalises : nullptr;
  }

  bool is_divided(const std::string& centred) const {
    return std::ranges::any_of(flow_.uses(centred), [&](const Use& use) {
      if (use.node->input_size() != 2 || flow_.is_data(use.node->input(1 - use.input))) return false;
      if (use.node->op_type() == "Div") return use.input == 0;
      return use.node->op_type() == "Mul" &&
             flow_.computed_with(use.node->input(1 - use.input), {"Sqrt", "Reciprocal"});
    });
  }

  bool is_centred(const std::string& data) const {
    const NodeProto* before = flow_.maker(data);
    return before != nullptr && before->op_type() == "Sub" && flow_.is_data(before->input(0)) &&
           !flow_.is_data(before->input(1));
  }

  bool is_scaled_input(std::string data) const {
    static const Ops scalings = {"Sub", "Mul", "Div"};
    for (; !data.empty() && !flow_.is_input(data); data = flow_.data_input(*flow_.maker(data)))
      if (scalings.contains(flow_.maker(data)->op_type())) return true;
    return false;
  }

  bool shifts_colors(const Shape& shape, const std::string& data) const {
    constexpr std::int64_t kColors = 4;
    return shape.numel() <= kColors && rank_of_input(data) >= 4;
  }

  // Of the graph's input behind a plain one, with its batch; large if it is not known, or several are joined.
  int rank_of_input(std::string data) const {
    while (!data.empty() && !flow_.is_input(data)) data = flow_.data_input(*flow_.maker(data));
    const int rank = data.empty() ? 0 : flow_.rank_of_input(data);
    return rank > 0 ? rank : Shape::kMaxRank;
  }

  // One number. Exporters write numbers of formulas beside learned scales and offsets.
  Opinion number(const Stored& t, const std::vector<Path>& paths) const {
    if (!t.initializer) return no(kNumber);
    const double value = t.elements.real(0);
    if (holds_mask_values(t.elements)) return no(kMask);
    for (const Path& path : paths)
      if (is_learned_number(t, value, path)) return {Vote::weight};
    return no(kNumber);
  }

  bool is_learned_number(const Stored& t, double value, const Path& path) const {
    const bool could = !is_formula_number(value) || sounds_learned(t.name);
    if (path.transformed) return could;
    const NodeProto& node = *path.meeting.node;
    const std::string& op = node.op_type();
    if (!path.moved) return false;
    const bool adds = op == "Add" || op == "Sub", scales = op == "Mul" || op == "Div";
    if ((!adds && !scales) || (path.meeting.input == 0 && (op == "Sub" || op == "Div"))) return false;
    const std::string data = flow_.data_input(node);
    if (data.empty() || flow_.is_plain_input(data)) return false;
    if (adds && guards(node)) return false;
    if (op == "Mul" && (value == 0 || value == 1)) return true;  // fresh; no formula needs it
    if (adds && (value == 0 || (t.elements.type.shape.rank() > 0 && is_layer_product(data)))) return true;
    return could && !(scales && is_root_of_integer(value));
  }

  // Keeps a root, a logarithm or a quotient away from zero.
  bool guards(const NodeProto& node) const {
    static const Ops guarded = {"Sqrt", "Log", "Reciprocal", "Pow"};
    return std::ranges::any_of(flow_.uses(node.output(0)), [](const Use& use) {
      return guarded.contains(use.node->op_type()) || (use.node->op_type() == "Div" && use.input == 1);
    });
  }

  // Only tips the scales for a number that could be either.
  static bool sounds_learned(const std::string& name) {
    constexpr std::array<std::string_view, 9> kHints = {"scale", "temperature", "alpha", "beta", "gamma",
                                                        "bias",  "weight",      "gain",  "param"};
    return std::ranges::any_of(kHints, [&](std::string_view hint) {
      return name.find(hint) != std::string::npos && name.find("onnx::") == std::string::npos;
    });
  }

  Opinion by_elements(const Stored& t, const std::vector<Path>& paths) const {
    const ConstantData& e = t.elements;
    if (holds_mask_values(e)) return no(kMask);
    if (is_bias(t, paths)) return {Vote::weight};
    if (is_score_bias(paths)) {
      // A table of learned offsets repeats its numbers; a mask has two, or nothing but zeros.
      if (is_two_valued_mask(e)) return no(kMask);
      if (varying_axes(e.type.shape) > 1 && is_uniform(e) && e.real(0) == 0 && !gathered(paths))
        return no("a mask that hides nothing");
      if (is_ramp_table(e) || is_distance_table(e)) return no(kTable);
      return {Vote::weight};
    }
    if (is_wave_table(e)) return no(kWaves);
    if (is_ramp_table(e)) return no(kTable);
    if (varying_axes(e.type.shape) > 1) {
      if (is_two_valued_mask(e)) return no(kMask);
      if (repeats_few_values(e) || (only_scales(paths) && is_whole_numbers(e))) return no(kTable);
    }
    return {Vote::weight};
  }

  // Added to a product, one number for each of its columns or maps.
  bool is_bias(const Stored& t, const std::vector<Path>& paths) const {
    return varying_axes(t.elements.type.shape) <= 1 && std::ranges::any_of(paths, [&](const Path& path) {
             return path.moved && path.meeting.node->op_type() == "Add" &&
                    is_layer_product(flow_.data_input(*path.meeting.node));
           });
  }

  // A product of the data with stored weights, not of the data with itself.
  bool is_layer_product(const std::string& name) const {
    const NodeProto* node = flow_.maker_before_moves(name);
    return is_product(node) && !flow_.data_input(*node).empty();
  }

  bool is_score_bias(const std::vector<Path>& paths) const {
    return std::ranges::any_of(paths, [&](const Path& path) {
      return path.meeting.node->op_type() == "Add" &&
             flow_.feeds(path.meeting.node->output(0), is_softmax, {"Add", "Where"});
    });
  }

  // Anchors and grids scale and shift the data; tokens join it.
  static bool only_scales(const std::vector<Path>& paths) {
    static const Ops arithmetic = {"Add", "Sub", "Mul", "Div"};
    return std::ranges::all_of(
        paths, [](const Path& path) { return arithmetic.contains(path.meeting.node->op_type()); });
  }

  static bool gathered(const std::vector<Path>& paths) { return std::ranges::any_of(paths, &Path::gathered); }

  Flow flow_;
  bool written_here_;
};

}  // namespace

Verdicts judge_tensors(const File& file, const std::vector<const NodeProto*>& order) {
  const Judge judge(file, order);
  Verdicts verdicts;
  for (const Stored& t : stored_tensors(file)) {
    const Opinion opinion = judge.judge(t);
    verdicts.emplace(t.name,
                     Verdict{t.elements.type, opinion.vote == Vote::weight, opinion.reason, t.generated});
  }
  return verdicts;
}

}  // namespace headroom::onnx

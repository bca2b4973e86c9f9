// Einsum: "bij,bjk->bik". Operands are joined in pairs, each pair by one GEMM.

#include <algorithm>
#include <map>

#include "base/text.h"
#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// A tensor and a letter for each of its axes. Axes behind the dots get their own letters, below.
struct Labelled {
  Term term;
  std::string labels;
};
constexpr char kDots = '0';  // '0' is the last of them, '1' the one before

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

std::string labels_of(const Context& c, const std::string& text, int dots) {
  std::string labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text.compare(i, 3, "...") != 0) c.invalid("dots come in threes");
      for (int k = dots; k-- > 0;) labels += static_cast<char>(kDots + k);
      i += 2;
    } else {
      if (!std::isalpha(static_cast<unsigned char>(text[i])))
        c.invalid(fmt::format("'{}' is not a letter", text[i]));
      labels += text[i];
    }
  }
  return labels;
}

int letters_in(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char ch) { return ch != '.'; }));
}

// The axes in another order, which names all of them.
Term arranged(Context& c, const Labelled& x, const std::string& order) {
  Ints perm;
  for (char label : order) perm.push_back(static_cast<std::int64_t>(x.labels.find(label)));
  if (std::is_sorted(perm.begin(), perm.end())) return x.term;
  return apply(c, "transpose", {x.term}, {{"perm", perm}});
}

// A letter that names two axes takes their diagonal, which becomes the last axis.
Labelled without_diagonals(Context& c, Labelled x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const std::size_t j = x.labels.find(x.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const char label = x.labels[i];
    const Shape shape = shape_of(c, x.term);
    const std::int64_t n = shape[static_cast<int>(i)];
    if (shape[static_cast<int>(j)] != n)
      c.invalid(fmt::format("'{}' is {} and {}", label, n, shape[static_cast<int>(j)]));
    Ints perm, dims, places;
    std::string left;
    for (std::size_t a = 0; a < x.labels.size(); ++a) {
      if (a == i || a == j) continue;
      perm.push_back(static_cast<std::int64_t>(a)), dims.push_back(shape[static_cast<int>(a)]);
      left += x.labels[a];
    }
    perm.push_back(static_cast<std::int64_t>(i)), perm.push_back(static_cast<std::int64_t>(j));
    dims.push_back(n * n);
    for (std::int64_t k = 0; k < n; ++k) places.push_back(k * (n + 1));
    const Term squares = reshaped(c, transposed(c, x.term, perm), dims);
    const auto last = static_cast<std::int64_t>(dims.size()) - 1;
    const Term line = apply(c, "gather", {squares, integers({n}, places)}, {{"axis", last}});
    return without_diagonals(c, {line, left + label});
  }
  return x;
}

// Sums over the axes that nothing needs later.
Labelled summed(Context& c, const Labelled& x, const std::string& wanted) {
  Ints axes;
  std::string left;
  for (std::size_t i = 0; i < x.labels.size(); ++i)
    if (has(wanted, x.labels[i]))
      left += x.labels[i];
    else
      axes.push_back(static_cast<std::int64_t>(i));
  if (axes.empty()) return x;
  return {apply(c, "reduce_sum", {x.term}, {{"axes", axes}, {"keepdims", std::int64_t{0}}}), left};
}

class Extents {
 public:
  void add(const Context& c, const Labelled& x) {
    const Shape shape = shape_of(c, x.term);
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      std::int64_t& extent = of_.try_emplace(x.labels[i], 1).first->second;
      const std::int64_t here = shape[static_cast<int>(i)];
      if (extent != here && extent != 1 && here != 1)
        c.invalid(fmt::format("'{}' is {} and {}", x.labels[i], extent, here));
      extent = std::max(extent, here);
    }
  }
  Ints of(const std::string& labels) const {
    Ints dims;
    for (char label : labels) dims.push_back(of_.at(label));
    return dims;
  }
  std::int64_t product(const std::string& labels) const {
    std::int64_t n = 1;
    for (char label : labels) n *= of_.at(label);
    return n;
  }

 private:
  std::map<char, std::int64_t> of_;
};

// One matrix per batch element; axes of 1 that another operand broadcasts are expanded first.
Term as_matrices(Context& c, const Labelled& x, const Extents& e, const std::string& batch,
                 const std::string& rows, const std::string& columns) {
  const std::string order = batch + rows + columns;
  Term term = arranged(c, x, order);
  if (shape_of(c, term).vector() != e.of(order)) term = apply(c, "expand", {term}, {{"shape", e.of(order)}});
  return reshaped(c, term, {e.product(batch), e.product(rows), e.product(columns)});
}

Labelled contracted(Context& c, Labelled a, Labelled b, const std::string& later) {
  a = summed(c, a, b.labels + later), b = summed(c, b, a.labels + later);
  Extents e;
  e.add(c, a), e.add(c, b);
  std::string batch, rows, columns, inner;
  for (char label : a.labels) (!has(b.labels, label) ? rows : has(later, label) ? batch : inner) += label;
  for (char label : b.labels)
    if (!has(a.labels, label)) columns += label;
  const Term y = apply(
      c, "matmul", {as_matrices(c, a, e, batch, rows, inner), as_matrices(c, b, e, batch, inner, columns)});
  const std::string labels = batch + rows + columns;
  return {reshaped(c, y, e.of(labels)), labels};
}

// Letters that occur once, in order; the dots first.
std::string implied(const std::vector<Labelled>& operands, int dots) {
  std::map<char, int> seen;
  for (const Labelled& x : operands)
    for (char label : x.labels) ++seen[label];
  std::string labels;
  for (int k = dots; k-- > 0;) labels += static_cast<char>(kDots + k);
  for (const auto& [label, times] : seen)
    if (times == 1 && std::isalpha(static_cast<unsigned char>(label))) labels += label;
  return labels;
}

Results convert_einsum(Context& c) {
  std::string equation = c.text("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> texts = split(equation.substr(0, arrow), ',');
  if (texts.size() != c.inputs()) c.invalid(fmt::format("'{}' for {} inputs", equation, c.inputs()));
  int dots = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    need_float(c, input(c, i));
    const int more = c.shape(i).rank() - letters_in(texts[i]);
    if (more < 0 || (more > 0 && !has(texts[i], '.')))
      c.invalid(fmt::format("'{}' for {}", texts[i], c.shape(i).str()));
    dots = std::max(dots, more);
  }
  std::vector<Labelled> operands;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const int more = c.shape(i).rank() - letters_in(texts[i]);
    operands.push_back({input(c, i), labels_of(c, texts[i], more)});
  }
  const std::string wanted =
      arrow == std::string::npos ? implied(operands, dots) : labels_of(c, equation.substr(arrow + 2), dots);
  for (Labelled& x : operands) x = without_diagonals(c, std::move(x));
  Labelled all = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string later = wanted;
    for (std::size_t k = i + 1; k < operands.size(); ++k) later += operands[k].labels;
    all = contracted(c, all, operands[i], later);
  }
  all = summed(c, all, wanted);
  for (char label : wanted)
    if (!has(all.labels, label)) c.invalid(fmt::format("'{}' is not in any input", label));
  return {arranged(c, all, wanted)};
}

}  // namespace

std::vector<Conversion> einsum_conversions() { return {{"Einsum", convert_einsum}}; }

}  // namespace headroom::onnx

#include "timing/kernel_form.h"

#include <algorithm>

#include "base/text.h"
#include "timing/forms.h"

namespace headroom {

void KernelForm::check(const TimingRow&, const std::string&) const {}

Traits KernelForm::learn_traits(std::span<const TimingRow>, const Machine&) const { return {}; }

double PreparedRow::cached_seconds(std::span<const double> constants) const {
  return fastest(*this, constants).seconds;
}

const std::vector<const KernelForm*>& kernel_forms() {
  static const std::vector<const KernelForm*> forms = {&gemm_form(), &linear_form(), &conv2d_form(),
                                                       &collective_form()};
  return forms;
}

bool is_form(std::string_view name) {
  return std::ranges::any_of(kernel_forms(), [&](const KernelForm* f) { return f->name() == name; });
}

const KernelForm& find_form(std::string_view name) {
  std::vector<std::string> names;
  for (const KernelForm* form : kernel_forms()) {
    if (form->name() == name) return *form;
    names.push_back(form->name());
  }
  reject(nearest(name, names), "there is no formula for the time of '{}'", name);
}

Fastest fastest(const PreparedRow& row, std::span<const double> constants) {
  Fastest best{0, row.seconds(0, constants)};
  for (std::size_t c = 1; c < row.candidates(); ++c)
    if (const double s = row.seconds(c, constants); s < best.seconds) best = {c, s};
  return best;
}

std::vector<double> starting_values(const std::vector<Constant>& constants) {
  std::vector<double> values;
  for (const Constant& c : constants) values.push_back(c.start);
  return values;
}

}  // namespace headroom

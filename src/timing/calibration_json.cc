#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/embedded.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "timing/calibration.h"
#include "timing/predictor.h"

namespace headroom {
namespace {

constexpr const char* kKey = "kernel_times";

Json member_json(const FormCalibration::Member& member, const std::vector<Constant>& constants) {
  Json json = {{"device", member.device}, {"compute_capability", member.compute_capability}};
  for (std::size_t i = 0; i < constants.size(); ++i)
    json["constants"][constants[i].name] = member.constants[i];
  for (const auto& [name, values] : member.traits) json["traits"][name] = values;
  return json;
}

// On one line: there are hundreds.
std::string shapes_text(const std::vector<std::uint32_t>& hashes) {
  std::string text;
  for (const std::uint32_t hash : hashes) text += fmt::format("{}{:08x}", text.empty() ? "" : " ", hash);
  return text;
}

std::vector<std::uint32_t> shapes_from(const std::string& text, const std::string& origin) {
  std::vector<std::uint32_t> hashes;
  for (const std::string& word : split(text, ' ')) {
    std::uint32_t& hash = hashes.emplace_back();
    const char* end = word.data() + word.size();
    if (const auto [stop, error] = std::from_chars(word.data(), end, hash, 16);
        error != std::errc() || stop != end)
      reject(Hint{"run `headroom calibrate` again"}, "{}: 'fitted_shapes' is damaged", origin);
  }
  std::ranges::sort(hashes);
  return hashes;
}

Json form_json(const FormCalibration& c) {
  Json json = {{"form", c.form}, {"group", c.group}, {"rows", c.rows}};
  const auto& constants = find_form(c.form).constants(c.group);
  for (const auto& member : c.members) json["devices"].push_back(member_json(member, constants));
  json["unseen_error"] = to_json(c.errors);
  json["intervals"] = c.intervals.to_json();
  if (c.residual.mix.trees > 0 || c.residual.mix.ridge > 0) json["residual"] = c.residual.to_json();
  if (!c.fitted_shapes.empty()) json["fitted_shapes"] = shapes_text(c.fitted_shapes);
  return json;
}

std::vector<double> constants_from(const Json& json, const KernelForm& form, const std::string& group,
                                   const std::string& origin) {
  std::vector<double> values;
  std::vector<std::string> names;
  for (const Constant& c : form.constants(group)) {
    names.push_back(c.name);
    const auto found = json.find(c.name);
    if (found == json.end() || !found->is_number()) reject("{}: constant '{}' is missing", origin, c.name);
    values.push_back(found->get<double>());
    if (!(values.back() > 0) || !std::isfinite(values.back()))
      reject("{}: constant '{}' is {}; it must be above 0", origin, c.name, values.back());
  }
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(names, name) == names.end())
      reject(nearest(name, names), "{}: unknown constant '{}'", origin, name);
  return values;
}

FormCalibration::Member member_from(const Json& json, const KernelForm& form, const std::string& group,
                                    const std::string& origin) {
  FormCalibration::Member member;
  member.device = json.at("device").get<std::string>();
  member.compute_capability = json.at("compute_capability").get<int>();
  member.constants = constants_from(json.at("constants"), form, group, origin);
  if (json.contains("traits"))
    for (const auto& [name, values] : json.at("traits").items())
      member.traits[name] = values.get<std::vector<std::string>>();
  return member;
}

// The sizes of the residual's input follow from the form: those of any row that it takes.
Residual residual_from(const Json& json, const KernelForm& form, const FormCalibration& c,
                       const Machine& machine, const std::string& origin) {
  TimingRow row{.group = c.group, .sizes = {}};
  for (const KernelForm::Size& size : form.sizes()) row.sizes.push_back(size.otherwise.value_or(64));
  const auto prepared = form.prepare(row, machine, c.traits_for(machine));
  const std::size_t width = residual_features(row, *prepared, {0, 1e-6}).size();
  return Residual::from_json(json, origin, width, residual_place(row).size());
}

FormCalibration form_from(const Json& json, const std::string& file, const std::optional<Machine>& machine) {
  FormCalibration c;
  c.form = json.at("form").get<std::string>();
  c.group = json.at("group").get<std::string>();
  const std::string origin = fmt::format("{}, {} {}", file, c.form, c.group);
  const KernelForm& form = find_form(c.form);
  if (std::ranges::find(form.groups(), c.group) == form.groups().end())
    reject(nearest(c.group, form.groups()), "{}: there is no such group", origin);
  c.rows = json.at("rows").get<std::size_t>();
  for (const Json& item : json.at("devices")) c.members.push_back(member_from(item, form, c.group, origin));
  if (c.members.empty()) reject("{}: 'devices' is empty", origin);
  const Json& e = json.at("unseen_error");
  c.errors = {.rows = e.at("rows").get<std::size_t>(),
              .mean = e.at("mean_percent").get<double>(),
              .median = e.at("median_percent").get<double>(),
              .p90 = e.at("p90_percent").get<double>(),
              .coverage = e.at("coverage_percent").get<double>(),
              .median_width = e.at("median_width_percent").get<double>()};
  c.intervals = Intervals::from_json(json.at("intervals"), origin);
  if (json.contains("fitted_shapes"))
    c.fitted_shapes = shapes_from(json.at("fitted_shapes").get<std::string>(), origin);
  if (machine && json.contains("residual"))
    c.residual = residual_from(json.at("residual"), form, c, *machine, origin);
  return c;
}

}  // namespace

bool holds_calibration(const Json& json) { return json.contains(kKey); }

Json to_json(const Calibration& calibration) {
  Json json = Json::object();
  if (calibration.machine) json["machine"] = to_json(*calibration.machine);
  json[kKey] = Json::array();
  for (const FormCalibration& c : calibration.forms) json[kKey].push_back(form_json(c));
  return json;
}

Calibration calibration_from_json(const Json& json, const std::string& origin) {
  if (!holds_calibration(json))
    reject(Hint{"`headroom calibrate` writes such a file"}, "{} holds no kernel times", origin);
  Calibration calibration;
  try {
    if (json.contains("machine")) calibration.machine = machine_from_json(json.at("machine"), origin);
    for (const Json& item : json.at(kKey))
      calibration.forms.push_back(form_from(item, origin, calibration.machine));
  } catch (const Json::exception&) {
    reject(Hint{"run `headroom calibrate` again"}, "{} is damaged: a field is missing or of another type",
           origin);
  }
  if (calibration.forms.empty()) reject("{} holds no kernel times", origin);
  return calibration;
}

const Calibration& shared_calibration() {
  static const Calibration built_in = [] {
    Calibration all;
    for (const EmbeddedFile& file : embedded_time_models()) {
      const std::string origin = fmt::format("built-in time model {}", file.name);
      const Json json = parse_object(file.text, origin);
      if (!holds_calibration(json)) continue;
      for (FormCalibration& form : calibration_from_json(json, origin).forms)
        all.forms.push_back(std::move(form));
    }
    return all;
  }();
  return built_in;
}

}  // namespace headroom

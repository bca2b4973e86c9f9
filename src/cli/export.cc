// The verb model export: a network and its weights as an ONNX file.
#include "base/file.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "models/onnx/imported.h"
#include "train/save_onnx.h"

namespace headroom::cli {
namespace {

struct ExportRequest {
  std::string model, weights, out;
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
};

void export_onnx(const ExportRequest& r) {
  if (r.batch < 0) reject("--batch is {}; it must be at least 1", r.batch);
  if (r.out.empty())
    reject(Hint{"headroom model export lenet5 --weights FILE -o lenet5.onnx"}, "no file to write: -o FILE");
  const Net net = find_net(adopted(r.model, r.weights));
  require_writable(r.out);
  const auto device = open_device("cpu", 0);
  EngineOptions options;
  options.seed = r.seed;
  Engine engine(net, *device, options);
  if (!r.weights.empty())
    load(engine, r.weights);
  else if (!is_onnx_name(r.model))
    note(fmt::format("headroom: no --weights: '{}' is written with its initial weights, from --seed {}\n",
                     net.name, r.seed));
  save_onnx(engine, r.out, r.batch);
}

}  // namespace

void add_export(Command model) {
  auto r = std::make_shared<ExportRequest>();
  Command verb = model.verb("export", "write a network and its weights as an ONNX file");
  verb.required("model", r->model, "zoo name with options, a net.json or an ONNX file");
  verb.option("--weights", r->weights, "weights: safetensors, or MXNet's .params");
  verb.option("-o,--output", r->out, "the file to write");
  verb.option("--batch", r->batch, "for this batch only; 0: for any batch");
  verb.option("--seed", r->seed, "seed of the weights if no file is given");
  verb.example("headroom model export lenet5 --weights lenet5.safetensors -o lenet5.onnx");
  verb.runs([r] { export_onnx(*r); });
}

}  // namespace headroom::cli

#include "cli/run_setup.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "cli/weights_file.h"
#include "data/glyphs.h"
#include "data/image_folder.h"
#include "data/targets.h"
#include "models/layers.h"
#include "models/onnx/imported.h"
#include "models/zoo.h"
#include "report/tensorboard.h"
#include "train/freeze.h"
#include "train/settings.h"

namespace headroom::cli {
namespace {

constexpr std::string_view kOutside = "images:";

void require_positive(std::int64_t value, const char* option) {
  if (value < 1) reject("{} is {}; it must be at least 1", option, value);
}

// A rate must be positive; a factor may be zero.
void require_number(double value, const char* option, bool zero_allowed) {
  if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed))
    reject("{} is {}; it must be a {} number", option, value, zero_allowed ? "non-negative" : "positive");
}

// Glyphs are drawn at any size, so a model with another input than 28 gets that size.
std::int64_t glyph_size(const Net& net) {
  constexpr std::int64_t kUsual = 28, kPadding = 4;
  std::int64_t side = net.input.back();
  if (net.input.size() == 1) {
    const std::int64_t values = side;
    side = std::llround(std::sqrt(double(values)));
    if (side * side != values)
      reject(Hint{"784 values are an image of 28x28"},
             "model '{}' takes {} values, but glyphs are square images", net.name, values);
  }
  if (side < kSmallestGlyph || side > kLargestGlyph)
    reject(Hint{"take another data set (--data), or a model with such an input"},
           "model '{}' takes images of {}x{}, but glyphs have {} to {} pixels per side", net.name, side, side,
           kSmallestGlyph, kLargestGlyph);
  const bool usual = side >= kUsual && side <= kUsual + kPadding;
  return usual ? 0 : side;
}

std::string model_of(const RunRequest& request, const std::optional<Recipe>& recipe) {
  std::string model = !request.model.empty() ? request.model : recipe ? recipe->model : "";
  if (model.empty())
    reject(Hint{"headroom train lenet5, or headroom train --recipe perceptron-nsys1"},
           "no model and no recipe was named");
  model = with_dims(model, request.dims);
  if (!request.hidden) return model;
  require_positive(*request.hidden, "--hidden");
  if (model.substr(0, model.find(':')) != "mlp")
    reject(Hint{"leave --hidden out, or take mlp"}, "--hidden is an option of mlp, not of '{}'", model);
  return with_option(model, "hidden", std::to_string(*request.hidden));
}

// "xavier", "normal:0.02": for every layer, unless a file or a recipe sets another.
void set_initial(Net& net, const std::string& init, bool keep) {
  const std::size_t colon = init.find(':');
  const std::string kind = init.substr(0, colon);
  std::optional<double> scale;
  if (colon != std::string::npos) {
    if (kind != "normal" && kind != "gaussian" && kind != "uniform" && kind != "constant")
      reject(Hint{"write normal:0.01, uniform:0.01 or constant:0"}, "--init is '{}': {} takes no number",
             init, kind);
    scale = parse_double(init.substr(colon + 1), "--init");
    if (*scale < 0 && kind != "constant")
      reject(Hint{fmt::format("write {}:0.01", kind)}, "--init is '{}': a deviation must not be negative",
             init);
  }
  for (Layer& layer : net.layers) {
    if (layer.type != "conv2d" && layer.type != "linear") continue;
    if (keep && layer.options.has("init")) continue;
    layer.options.set("init", kind);
    if (scale)
      layer.options.set("init_scale", *scale);
    else if (layer.options.has("init_scale"))
      layer.options.set("init_scale", 0.01);
  }
}

bool in_zoo(std::string_view model) {
  return std::ranges::any_of(
      zoo(), [&](const ZooEntry& entry) { return entry.name == model.substr(0, model.find(':')); });
}

Net build_net(const RunSetup& setup) {
  Net net = find_net(setup.model);
  if (setup.recipe) apply_initial(*setup.recipe, net);
  if (!setup.init.empty()) set_initial(net, setup.init, setup.recipe || !in_zoo(setup.model));
  if (!setup.loss.empty()) net.loss = setup.loss;
  return net;
}

bool is_text(std::string_view data) { return data == "text" || data.starts_with("text:"); }

// Text for models that read tokens, images for all others.
void require_kind(const RunSetup& setup) {
  const bool text = is_text(setup.data), tokens = reads_tokens(setup.net);
  if (tokens && !text)
    reject(Hint{"write --data text:FILE"}, "model '{}' reads text, not the images of '{}'", setup.net.name,
           setup.data);
  if (text && !tokens)
    reject(Hint{"take gpt2:size=tiny, rnn, or a net.json that begins with an embedding"},
           "model '{}' reads images, not text", setup.net.name);
}

// Size and values of the pixels, and their preprocessing.
void resolve_pixels(const RunRequest& request, const TrainDefaults& defaults, RunSetup& setup) {
  DataOptions& data = setup.data_options;
  require_kind(setup);
  if (reads_tokens(setup.net)) data.context = setup.net.input.at(0);
  if (!request.image_size.empty()) {
    parse_image_size(request.image_size, data);
  } else if (setup.data == "glyphs") {
    data.image_size = glyph_size(setup.net);
  } else if (!defaults.resize.empty()) {
    data.image_size = setup.net.input.at(1), data.image_width = setup.net.input.at(2);
  }
  const std::string& rule = request.resize.empty() ? defaults.resize : request.resize;
  if (!rule.empty()) data.resize = parse_resize_rule(rule);
  const std::string& pixels =
      request.pixels.empty() && request.normalize.empty() ? defaults.pixels : request.pixels;
  Preprocess usual = usual_preprocess(setup.data);
  if (setup.recipe && setup.recipe->preprocess == Preprocess::raw()) usual = Preprocess::raw();
  setup.train.preprocess = parse_preprocess(pixels, request.normalize, usual);
  const std::string& augment =
      !request.augment.empty() || !setup.recipe ? request.augment : setup.recipe->augment;
  if (!augment.empty()) setup.train.augment = parse_augment(augment);
  constexpr int kMaxThreads = 256;
  setup.train.loader_threads = request.loader_threads;
  setup.train.feed = request.feed;
  if (request.loader_threads < 1 || request.loader_threads > kMaxThreads)
    reject("--loader-threads is {}; it must lie between 1 and {}", request.loader_threads, kMaxThreads);
}

}  // namespace

void add_data_options(Command verb, RunRequest& request) {
  verb.option("--data", request.data,
              "mnist, fashion-mnist, cifar10[:FILE], images:DIR, idx:DIR, npy:X,Y, text:FILE or glyphs "
              "(embedded; the "
              "default)");
  verb.option("--data-dir", request.data_dir,
              "folder that holds mnist/, fashion-mnist/, cifar-10/; else $HEADROOM_DATA");
  verb.option("--image-size", request.image_size, "resize the images to SxS, or to HxW");
  verb.option("--resize", request.resize,
              "pixels outside an image: edge, rounded (the default), or zero, cut off");
  verb.option("--pixels", request.pixels, "raw (0 to 255), scaled (0 to 1) or normalized (the default)");
  verb.option("--normalize", request.normalize,
              "mean,deviation or r,g,b/r,g,b instead of the data set's own");
  add_dim_option(verb, request.dims);
  verb.option("--test-size", request.test_size, "use only the first N test images");
  verb.option("--batch", request.batch, "images per step");
  verb.option("--weights", request.weights, "start from this file: safetensors, or MXNet's .params");
}

void add_loading_options(Command verb, RunRequest& request) {
  verb.option("--augment", request.augment, "crop, crop:PIXELS, flip or several: crop,flip");
  verb.option("--loader-threads", request.loader_threads, "threads that prepare batches");
}

namespace {

// The value from the request, else the recipe's, else the model's default.
template <class T>
T pick(const std::optional<T>& asked, const std::optional<Recipe>& recipe, T Recipe::*of_recipe, T usual) {
  return asked ? *asked : recipe ? (*recipe).*of_recipe : usual;
}

void resolve_update(const RunRequest& r, const TrainDefaults& defaults, RunSetup& setup) {
  const auto& recipe = setup.recipe;
  const std::string named = !r.optimizer.empty()                   ? r.optimizer
                            : recipe && !recipe->optimizer.empty() ? recipe->optimizer
                            : recipe                               ? "sgd"
                                                                   : defaults.optimizer;
  setup.update = r.optimizer.empty() && !recipe ? usual_update(defaults) : parse_update(named);
  // The momentum, rate, schedule and warm-up of a model or recipe belong to its own optimizer.
  const bool usual = r.optimizer.empty();
  if (r.momentum || (usual && setup.update.momentum == 0))
    setup.update.momentum = pick(r.momentum, recipe, &Recipe::momentum, defaults.momentum);
  setup.update.nesterov = r.nesterov;
  setup.update.freeze = parse_freeze(r.freeze);
  if (r.l2 && r.weight_decay)
    reject(Hint{"both shrink the weights; only --l2 counts in the loss"},
           "--l2 and --weight-decay were given");
  setup.update.l2 = pick(r.weight_decay ? r.weight_decay : r.l2, recipe, &Recipe::l2, defaults.weight_decay);
  setup.update.decay = r.weight_decay || (!r.l2 && !recipe);
  setup.update.clip_norm = r.clip_norm.value_or(recipe || !usual ? 0 : defaults.clip_norm);
  require_number(setup.update.clip_norm, "--clip-norm", true);
  setup.label_smoothing = r.label_smoothing.value_or(0);
  if (!(setup.label_smoothing >= 0 && setup.label_smoothing < 1))
    reject("--label-smoothing is {}; it must lie in [0, 1)", setup.label_smoothing);
  const bool plain = setup.update.kind == "sgd" || setup.update.kind == "adadelta";
  double usual_lr = usual ? pick<double>({}, recipe, &Recipe::lr, defaults.lr) : plain ? 0.05 : 0.001;
  if (const std::int64_t fixed = fixed_batch(setup.net);
      !recipe && plain && fixed > 0 && fixed < defaults.batch)
    usual_lr *= double(fixed) / double(defaults.batch);  // the rate is meant for the usual batch
  setup.train.lr = r.lr.value_or(usual_lr);
  require_number(setup.train.lr, "--lr", false);
  require_number(setup.update.l2, r.weight_decay ? "--weight-decay" : "--l2", true);
  require_number(setup.update.momentum, "--momentum", true);
  if (setup.update.momentum >= 1) reject("--momentum is {}; it must be below 1", setup.update.momentum);
  if (setup.update.nesterov && setup.update.momentum == 0) reject("--nesterov needs a --momentum above 0");
  setup.train.schedule = parse_schedule(!r.schedule.empty() ? r.schedule
                                        : recipe            ? recipe->schedule
                                        : usual             ? defaults.schedule
                                                            : "constant");
  const double warmup = recipe || !usual ? 0 : defaults.warmup * double(setup.train.epochs);
  setup.train.warmup = r.warmup.value_or(warmup);
  require_number(setup.train.warmup, "--warmup", true);
}

std::optional<DType> save_precision_of(const RunRequest& request) {
  if (request.save_precision.empty()) return {};
  if (request.save.empty() && !request.keep_best)
    reject(Hint{"--save FILE"}, "--save-precision is the precision of a file, and none is named");
  const std::vector<std::string> names = {"fp32", "fp64", "bf16", "fp16"};
  if (std::ranges::find(names, request.save_precision) == names.end())
    reject(nearest(request.save_precision, names), "unknown --save-precision '{}'", request.save_precision);
  return parse_dtype(request.save_precision);
}

void require_sound(const RunRequest& request, const RunSetup& setup) {
  if (request.new_head && request.weights.empty())
    reject(Hint{"--weights FILE"},
           "--new-head replaces the last layer of loaded weights, and none are named");
  if (request.keep_best && request.save.empty() && request.checkpoint_dir.empty())
    reject(Hint{"--save FILE"}, "--keep-best needs a file for the weights, or a --checkpoint-dir");
  require_positive(setup.train.batch, "--batch");
  require_positive(setup.train.epochs, "--epochs");
  constexpr std::int64_t kMaxEpochs = 1'000'000;
  if (setup.train.epochs > kMaxEpochs)
    reject("--epochs is {}; the max is {}", setup.train.epochs, kMaxEpochs);
  if (request.log_every < 0)
    reject("--log-every is {}; it must be a number of steps, or 0 for never", request.log_every);
  if (request.train_size) require_positive(*request.train_size, "--train-size");
  if (request.test_size) require_positive(*request.test_size, "--test-size");
  if (request.checkpoint_every) require_positive(*request.checkpoint_every, "--checkpoint-every");
  if (request.keep) require_positive(*request.keep, "--keep");
  if (!(setup.train.target >= 0 && setup.train.target <= 1))
    reject("--target is {}; it must be an accuracy between 0 and 1", setup.train.target);
  if (request.eval_every < 0)
    reject("--eval-every is {}; it must be a number of steps, or 0 for every epoch alone",
           request.eval_every);
  if (!request.wild.empty() && !request.wild.starts_with(kOutside))
    reject(Hint{"write --wild images:DIR"}, "--wild is '{}'; it must be a folder of pictures", request.wild);
  if (request.checkpoint_dir.empty() &&
      (request.checkpoint_every || request.keep || request.resume == "auto"))
    reject(Hint{"--checkpoint-dir DIR"}, "{} needs a folder for the checkpoints",
           request.checkpoint_every ? "--checkpoint-every"
           : request.keep           ? "--keep"
                                    : "--resume auto");
  if (!request.tensorboard.empty()) require_event_folder(request.tensorboard);
  for (const std::string& path : {request.save, request.save_onnx})
    if (!path.empty()) require_writable(path);
  require_files(request.files, {{"--save", request.save}, {"--save-onnx", request.save_onnx}});
}

}  // namespace

Split load_outside(const std::string& spec, const Dataset& data, const RunSetup& setup) {
  return read_outside_images(spec.substr(kOutside.size()), data, setup.data_options.resize);
}

std::string RunSetup::spec() const { return in_zoo(model) ? model : ""; }

RunSetup resolve(const RunRequest& request, const Common& common) {
  std::optional<Recipe> recipe;
  if (!request.recipe.empty()) recipe = find_recipe(request.recipe);
  const std::string data = !request.data.empty() ? request.data : recipe ? recipe->data : "glyphs";
  std::string model = adopted(model_of(request, recipe), request.weights, request.new_head);
  if (is_text(data)) model = fitted_to_text(model);
  const TrainDefaults defaults = train_defaults(model);
  RunSetup setup{
      .model = model, .loss = request.loss, .init = request.init, .net = Net("", {}), .recipe = recipe};
  setup.net = build_net(setup);
  setup.save_precision = save_precision_of(request);
  if (recipe && common.dtype() == DType::f32) setup.kernels = recipe->kernels_fp32;

  setup.data = data;
  setup.data_options.dir = request.data_dir;
  setup.data_options.train_size = pick(request.train_size, recipe, &Recipe::train_size, std::int64_t{0});
  setup.data_options.test_size = pick(request.test_size, recipe, &Recipe::test_size, std::int64_t{0});
  setup.data_options.validation_tail = recipe ? recipe->validation_tail : 0;
  setup.data_options.seed = common.seed;
  resolve_pixels(request, defaults, setup);

  setup.train.batch = pick(request.batch, recipe, &Recipe::batch, defaults.batch);
  if (const std::int64_t fixed = fixed_batch(setup.net); fixed > 0) {
    if (request.batch && *request.batch != fixed)
      note(fmt::format("{} runs with a batch of {}, set by its file\n", setup.net.name, fixed));
    setup.train.batch = fixed;
  }
  if (request.accumulate) {
    constexpr std::int64_t kMax = 1 << 16;
    if (*request.accumulate < 1 || *request.accumulate > kMax)
      reject("--accumulate is {}; it must lie between 1 and {}", *request.accumulate, kMax);
    require_positive(setup.train.batch, "--batch");
    setup.train.accumulate = *request.accumulate;
    setup.train.batch *= setup.train.accumulate;
  }
  setup.train.epochs = pick(request.epochs, recipe, &Recipe::epochs, defaults.epochs);
  setup.train.shuffle = pick(request.shuffle, recipe, &Recipe::shuffle, true);
  setup.train.seed = common.seed;
  setup.train.target = pick(request.target, recipe, &Recipe::target, 0.0);
  setup.train.eval_every = request.eval_every;
  resolve_update(request, defaults, setup);
  require_sound(request, setup);
  return setup;
}

namespace {

// Unless the user or the network says otherwise, targets are learned by the loss that suits them.
std::string loss_for(const Dataset& data, const RunSetup& setup) {
  if (!setup.loss.empty() || data.train.targets_each == 0 || setup.net.loss != kCrossEntropy)
    return setup.loss;
  return targets_are_labels(data) ? kMultiLabel : kRegression;
}

}  // namespace

Dataset load_data(RunSetup& setup, bool test_alone, const RankRun* ranks) {
  DataOptions options = setup.data_options;
  // A test set taken from the end of the training images needs them.
  if (test_alone && options.validation_tail == 0) options.train_size = 1, options.test_alone = true;
  auto read = [&] { return load_dataset(setup.data, options); };
  Dataset data = ranks ? ranks->load(read) : read();
  if (!data.test.text.empty()) return data;
  const std::string fitted = fitted_to(setup.model, data.test.image.vector(), data.classes);
  const std::string loss = loss_for(data, setup);
  if (fitted != setup.model || loss != setup.loss) {
    setup.model = fitted, setup.loss = loss;
    setup.net = build_net(setup);
  }
  return data;
}

}  // namespace headroom::cli

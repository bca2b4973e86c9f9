#include "cli/comparing_run.h"
#include "cli/training_run.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "report/layers.h"

namespace headroom::cli {

namespace {

struct Training {
  RunRequest request;
  Common common;
  ProfileOptions profile = {};
};

}  // namespace

void add_learning_options(Command verb, RunRequest& r, Common& common) {
  add_data_options(verb, r);
  add_loading_options(verb, r);
  verb.option("--train-size", r.train_size, "use only the first N training images");
  verb.option("--epochs", r.epochs, "passes over the training images");
  verb.option("--lr", r.lr, "learning rate");
  verb.option("--l2", r.l2, "L2 penalty on weights (not biases), part of the loss");
  verb.option("--weight-decay", r.weight_decay, "the same on the gradients alone: no part of the loss");
  verb.option("--momentum", r.momentum, "momentum of gradient descent");
  verb.flag("--nesterov", r.nesterov, "Nesterov's form of momentum");
  verb.option("--optimizer", r.optimizer,
              "sgd, adagrad, adadelta, rmsprop, adam or adamw, with settings: adam:beta1=0.9,epsilon=1e-8");
  verb.option(
      "--schedule", r.schedule,
      "constant, step:every=10,gamma=0.1, cosine:min=0, exponential:gamma=0.95 or polynomial:power=2; "
      "in epochs");
  verb.option("--warmup", r.warmup, "epochs of linear growth to the learning rate");
  verb.option("--clip-norm", r.clip_norm, "scale gradients down to this norm of all together; 0: never");
  verb.option("--accumulate", r.accumulate, "add up the gradients of N batches before each update");
  verb.option("--label-smoothing", r.label_smoothing,
              "share of the target that all classes divide equally, as 0.1");
  verb.option(
      "--loss", r.loss,
      "cross_entropy, squared_error, reconstruction, regression or multi_label instead of the model's own");
  verb.option("--init", r.init,
              "initial weights: fan_in, he, he_fan_out, xavier, orthonormal, normal:0.01, uniform:0.01 or "
              "constant:0");
  verb.option(
      "--freeze", r.freeze,
      "parameters that stay as they are: names with * and ?, repeatable or comma-separated; see headroom "
      "model show --trainable");
  verb.option("--hidden", r.hidden, "hidden units of mlp");
  verb.flag("--shuffle,!--no-shuffle", r.shuffle, "shuffle the images every epoch, or keep the file's order");
  verb.flag("--resident,!--no-resident", r.feed.resident,
            "on GPUs: keep the training images in GPU memory if they fit, or stream them");
  verb.flag("--reuse,!--no-reuse", r.feed.reuse,
            "stream into two buffers that take turns, or into fresh ones for each batch");
  verb.flag("--pinned,!--no-pinned", r.feed.pinned, "stream from pinned host memory, or from pageable");
  verb.flag("--overlap,!--no-overlap", r.feed.overlap,
            "copy the next batch during the computation, or after it");
  verb.flag("--new-head", r.new_head,
            "fine-tuning: load the --weights that fit, and start the last layer anew for the data's classes");
  verb.option("--eval-every", r.eval_every, "test every N steps as well, not only after each epoch");
  verb.option("--wild", r.wild,
              "images:DIR: test on these pictures, too, in folders named for the data's classes");
  add_run_options(verb, common);
}

void add_comparison_options(Command verb, RunRequest& r) {
  verb.option("--check-against", r.check_against,
              "train on this device as well (cpu, cpu/fp64, cuda) and print how far the weights drift apart");
  verb.option("--perturb", r.perturb,
              "with --check-against: first change each weight of the other run by this share, as 1e-15");
}

// Everything but the model and the recipe.
void add_training_options(Command verb, RunRequest& r, Common& common) {
  add_learning_options(verb, r, common);
  verb.option("--save", r.save, "write the weights to this safetensors file");
  verb.option("--save-precision", r.save_precision, "of that file: fp32, fp64, bf16 or fp16; else the run's");
  verb.flag("--keep-best", r.keep_best,
            "save the weights of the best epoch, by test accuracy (else loss), not those of the last");
  verb.option("--save-onnx", r.save_onnx, "write network and weights as ONNX to this file");
  add_record_options(verb, r.files);
  verb.option("--checkpoint-dir", r.checkpoint_dir, "folder for checkpoints; a run can resume from them");
  verb.option("--checkpoint-every", r.checkpoint_every, "steps between checkpoints; else one at the end");
  verb.option("--keep", r.keep, "number of newest checkpoints to keep (3)");
  verb.option("--resume", r.resume, "resume from this checkpoint; auto: the newest intact one in the folder");
  verb.option("--target", r.target, "stop at the first test that reaches this accuracy");
  add_comparison_options(verb, r);
  add_parallel_options(verb, r.ranks);
  verb.option("--log-every", r.log_every, "print the loss every N steps");
  add_layer_table_options(verb, common.tables);
}

namespace {

void add_tensorboard_option(Command verb, RunRequest& r) {
  verb.option("--tensorboard", r.tensorboard,
              "write losses, accuracies and weight histograms into this folder, for TensorBoard");
}

void run(const Training& training) {
  require_tables(training.common.tables, empty_layer_sheet());
  require_live(training.request.live);
  const bool profiled = !training.profile.out.empty();
  if (profiled && !training.request.check_against.empty())
    reject(Hint{"give only one of the two"}, "--profile and --check-against exclude each other");
  if (training.request.perturb != 0 && training.request.check_against.empty())
    reject(Hint{"--check-against cpu"},
           "--perturb changes the other run of a comparison, and none is asked for");
  if (profiled) return profiled_training_run(training.request, training.common, training.profile, false);
  if (training.request.check_against.empty()) return training_run(training.request, training.common, false);
  if (training.request.live.port)
    reject(Hint{"give only one of the two"}, "--live and --check-against exclude each other");
  if (launched_as_one_of_several())
    reject(Hint{"start it without mpirun"}, "--check-against compares two devices in one process");
  comparing_run(training.request, training.common);
}

}  // namespace

void add_train(Command app) {
  auto state = std::make_shared<Training>();
  Command verb = app.verb("train", "train a network; print what each layer cost and could have cost");
  verb.option("model", state->request.model,
              "zoo name with options (mlp:hidden=64), a net.json or an ONNX file");
  verb.option("--recipe", state->request.recipe,
              "a published case, see headroom recipe list; or a JSON file");
  add_training_options(verb, state->request, state->common);
  add_tensorboard_option(verb, state->request);
  add_live_options(verb, state->request.live);
  add_profile_folder(verb, state->profile);
  verb.example("headroom train lenet5 --data glyphs --epochs 1 --save lenet5.safetensors");
  verb.example("headroom train lenet5 --data cifar10 --augment crop,flip --optimizer adam --schedule cosine");
  verb.example("headroom train lenet5 --checkpoint-dir run1 --checkpoint-every 100 --resume auto");
  verb.example(
      "headroom train lenet5 --weights lenet5.safetensors --data fashion-mnist --freeze 'C1.*,C3.*'");
  verb.example("headroom train resnet:depth=18 --weights w.safetensors --new-head --data images:DIR");
  verb.example("headroom train lenet5 --data glyphs --epochs 5 --tensorboard board");
  verb.example("headroom train lenet5 --epochs 20 --live --live-keep 10m");
  verb.example("headroom train --recipe perceptron-nsys1 --precision fp64 --json");
  verb.example("headroom train mlp:hidden=512 --data mnist --device cuda --check-against cpu");
  verb.example("mpirun -n 4 headroom train mlp:hidden=2048 --data mnist --parallel hybrid:2x2 --batch 1000");
  verb.runs_on_ranks([state] { run(*state); });
}

void add_recipe_run(Command recipe) {
  auto state = std::make_shared<Training>();
  Command verb = recipe.verb("run", "train as a recipe says; options override it");
  verb.required("recipe", state->request.recipe, "a name from headroom recipe list, or a JSON file");
  add_training_options(verb, state->request, state->common);
  add_tensorboard_option(verb, state->request);
  add_live_options(verb, state->request.live);
  verb.example("headroom recipe run lenet5-glyphs");
  verb.example("headroom recipe run mine.json --epochs 2");
  verb.runs_on_ranks([state] { run(*state); });
}

void add_demo(Command app) {
  auto common = std::make_shared<Common>();
  auto files = std::make_shared<RecordFiles>();
  Command verb = app.verb("demo", "train LeNet-5 on the embedded digits and read the result, layer by layer");
  add_run_options(verb, *common);
  add_record_options(verb, *files);
  verb.example("headroom demo --report demo.html");
  add_layer_table_options(verb, common->tables);
  verb.runs_on_ranks([common, files] {
    require_tables(common->tables, empty_layer_sheet());
    RunRequest request;
    request.files = *files;
    request.recipe = "lenet5-glyphs";
    training_run(request, *common, true);
  });
}

}  // namespace headroom::cli

#include "cli/training_run.h"
#include "cli/verbs.h"

namespace headroom::cli {

void add_train(CLI::App& app) {
  struct State {
    RunRequest request;
    Common common;
  };
  auto state = std::make_shared<State>();
  RunRequest& r = state->request;
  CLI::App* verb =
      app.add_subcommand("train", "train a network; print what each layer cost and could have cost");
  verb->add_option("model", r.model, "zoo name with options (mlp:hidden=64), or a net.json");
  verb->add_option("--recipe", r.recipe, "a published case: see headroom recipe list");
  add_data_options(*verb, r);
  verb->add_option("--train-size", r.train_size, "use the first so many training images");
  verb->add_option("--epochs", r.epochs, "passes over the training images");
  verb->add_option("--lr", r.lr, "learning rate");
  verb->add_option("--l2", r.l2, "L2 penalty on weights (not biases)");
  verb->add_option("--momentum", r.momentum, "momentum of gradient descent");
  verb->add_flag("--nesterov", r.nesterov, "Nesterov's form of momentum");
  verb->add_option("--hidden", r.hidden, "hidden units of mlp");
  // By a function: the parser would give an optional flag the value false where the user gave none.
  verb->add_flag_function(
      "--shuffle,!--no-shuffle", [&r](std::int64_t count) { r.shuffle = count > 0; },
      "shuffle the images every epoch, or keep the file's order");
  verb->add_option("--save", r.save, "write the weights to this safetensors file");
  verb->add_option("--record", r.record, "write the run record (JSON) to this file");
  verb->add_option("--target", r.target, "stop after the epoch that reaches this test accuracy");
  verb->add_option("--log-every", r.log_every, "print the loss every so many steps");
  add_run_options(*verb, state->common);
  add_example(*verb, "headroom train lenet5 --data glyphs --epochs 1 --save lenet5.safetensors");
  add_example(*verb, "headroom train --recipe perceptron-nsys1 --precision fp64 --json");
  verb->callback([state] { training_run(state->request, state->common, false); });
}

void add_demo(CLI::App& app) {
  auto common = std::make_shared<Common>();
  CLI::App* verb =
      app.add_subcommand("demo", "train LeNet-5 on the embedded digits and read the result, layer by layer");
  add_run_options(*verb, *common);
  add_example(*verb, "headroom demo");
  verb->callback([common] {
    RunRequest request;
    request.recipe = "lenet5-glyphs";
    training_run(request, *common, true);
  });
}

}  // namespace headroom::cli

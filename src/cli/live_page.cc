#include "cli/live_page.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "page/html.h"
#include "page/page.h"
#include "report/chart.h"

namespace headroom::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kUpdateInterval(500);
constexpr milliseconds kEpochInterval(100);  // short epochs may end many times in it
constexpr double kMaxShare = 0.01;           // of one core, for drawing
constexpr std::chrono::seconds kRateWindow(2);

std::string live_summary(const LiveState& state) {
  std::vector<SummaryFact> facts = {{.name = "state",
                                     .value = !state.ending.empty() ? state.ending
                                              : state.step == 0     ? "preparing"
                                                                    : "training",
                                     .id = "status"},
                                    {.name = "step",
                                     .value = std::to_string(state.step),
                                     .note = fmt::format("of {}", state.steps),
                                     .id = "step"}};
  if (state.step > 0)
    facts.push_back({.name = "loss", .value = fmt::format("{:.4f}", state.loss), .id = "loss"});
  if (!state.epochs.empty()) {
    const EpochResult& last = state.epochs.back().result;
    facts.push_back({.name = "epochs", .value = std::to_string(last.epoch), .id = "epoch"});
    facts.push_back({.name = "test loss", .value = fmt::format("{:.4f}", last.test_loss), .id = "test-loss"});
    if (state.classifier)
      facts.push_back(
          {.name = "test accuracy", .value = fmt::format("{:.4f}", last.test_accuracy), .id = "accuracy"});
  }
  facts.push_back(
      {.name = "images/s", .value = fmt::format("{:.0f}", state.images_per_second), .id = "rate"});
  facts.push_back({.name = "elapsed", .value = human_seconds(state.elapsed_s), .id = "elapsed"});
  return html_facts(facts);
}

std::string live_curves(const LiveState& state) {
  LineChart chart{.title = "Loss", .x = {.label = "step"}, .markers = false};
  LineSeries training{.name = "training"}, test{.name = "test", .dashed = true};
  for (const LiveCurve::Point& point : state.losses.points())
    training.points.push_back({double(point.step), point.value});
  for (const LiveState::Epoch& epoch : state.epochs)
    if (std::isfinite(epoch.result.test_loss))
      test.points.push_back({double(epoch.step), epoch.result.test_loss});
  chart.series.push_back(std::move(training));
  if (!test.points.empty()) chart.series.push_back(std::move(test));
  return figure(chart);
}

// The time that the calling thread has computed.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

void LiveCurve::add(std::int64_t step, double value) {
  if (!std::isfinite(value) || seen_++ % every_ != 0) return;
  if (points_.size() == kMaxPoints) {
    for (std::size_t i = 0; i < kMaxPoints / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(kMaxPoints / 2);
    every_ *= 2;
  }
  points_.push_back({step, value});
}

LiveView plain_live_view() {
  return {[](const LiveState& state) {
            return LiveSections{live_summary(state), live_curves(state)};
          },
          [](const LiveState& state, const LiveSections& sections) {
            return live_page("headroom: " + state.title,
                             {{"summary", "Now", sections.summary}, {"curves", "Training", sections.curves}},
                             state.ending.empty());
          }};
}

LivePage::LivePage(LiveAddress address, std::string title, double keep_seconds, LiveView view)
    : view_(std::move(view)), keep_seconds_(keep_seconds), server_(std::move(address)) {
  state_.title = std::move(title);
  server_.show(view_.page(state_, view_.sections(state_)));
  thread_ = std::thread([this] { render_until_end(); });
}

LivePage::~LivePage() {
  end("the training was interrupted");
  send_done(false);
}

void LivePage::begin(bool classifier, std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  state_.classifier = classifier;
  state_.batch = batch;
  start_ = earlier_ = later_ = {Clock::now(), 0};
}

void LivePage::on_step(std::int64_t step, std::int64_t of, double loss) {
  const std::lock_guard lock(mutex_);
  if (!begun_) {  // a resumed run begins at a later step
    begun_ = true;
    start_.step = earlier_.step = later_.step = step - 1;
  }
  state_.step = step;
  state_.steps = of;
  state_.loss = loss;
  state_.losses.add(step, loss);
}

void LivePage::on_epoch(const EpochResult& epoch) {
  const std::lock_guard lock(mutex_);
  state_.epochs.push_back({epoch, state_.step});
  epoch_ended_ = true;
  changed_.notify_all();
}

LiveState LivePage::snapshot() {
  const Clock::time_point now = Clock::now();
  const auto seconds_since = [&](const Mark& mark) {
    return std::chrono::duration<double>(now - mark.time).count();
  };
  if (start_.time != Clock::time_point{}) state_.elapsed_s = seconds_since(start_);
  const Mark& from = state_.ending.empty() ? earlier_ : start_;
  if (begun_ && seconds_since(from) > 0)
    state_.images_per_second =
        static_cast<double>((state_.step - from.step) * state_.batch) / seconds_since(from);
  if (now - later_.time > kRateWindow) earlier_ = std::exchange(later_, {now, state_.step});
  return state_;
}

void LivePage::send_update(const LiveState& state) {
  const LiveSections sections = view_.sections(state);
  const Json json = {{"sections", {{"summary", sections.summary}, {"curves", sections.curves}}}};
  server_.send("update", json.dump());
  if (!state.ending.empty()) server_.show(view_.page(state, sections));
}

std::chrono::duration<double> live_pause(double drawing_seconds) {
  return std::max<std::chrono::duration<double>>(kEpochInterval,
                                                 std::chrono::duration<double>(drawing_seconds / kMaxShare));
}

void LivePage::render_until_end() {
  std::unique_lock lock(mutex_);
  double before = thread_seconds(), drawing = 0;
  while (!ended_) {
    const auto pause = live_pause(drawing);
    changed_.wait_for(lock, pause, [&] { return ended_; });
    if (pause < kUpdateInterval)
      changed_.wait_for(lock, kUpdateInterval - pause, [&] { return ended_ || epoch_ended_; });
    epoch_ended_ = false;
    if (ended_ || server_.readers() == 0) continue;
    const LiveState state = snapshot();
    lock.unlock();
    try {
      send_update(state);
    } catch (const std::exception&) {  // a page that cannot be drawn must not end the training
    }
    const double now = thread_seconds();
    drawing = now - before, before = now;
    lock.lock();
  }
}

void LivePage::end(const std::string& ending) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    state_.ending = ending;
    changed_.notify_all();
  }
  thread_.join();
  try {
    send_update(snapshot());
  } catch (const std::exception&) {
  }
}

void LivePage::show(std::string final_page) { server_.show(std::move(final_page)); }

void LivePage::send_done(bool reload) {
  if (!std::exchange(over_, true)) server_.send("done", Json({{"reload", reload}}).dump());
}

void LivePage::keep(const std::function<bool()>& stop) {
  send_done(keep_seconds_ > 0);
  const auto end = Clock::now() + std::chrono::duration<double>(keep_seconds_);
  while (Clock::now() < end && !stop()) std::this_thread::sleep_for(kEpochInterval);
}

}  // namespace headroom::cli

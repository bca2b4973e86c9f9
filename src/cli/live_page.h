#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/live_server.h"
#include "train/trainer.h"

namespace headroom::cli {

// The course of a number over a run of any length, in at most kMaxPoints points. Full, it drops every second
// point, and from then on takes every second number.
class LiveCurve {
 public:
  static constexpr std::size_t kMaxPoints = 2'000;
  struct Point {
    std::int64_t step = 0;
    double value = 0;
  };
  void add(std::int64_t step, double value);
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  std::int64_t every_ = 1, seen_ = 0;
};

// What the page shows: a copy that rendering can take its time with.
struct LiveState {
  struct Epoch {
    EpochResult result;
    std::int64_t step = 0;  // the last one of the epoch
  };
  std::string title;       // "lenet5 on glyphs"
  bool classifier = true;  // has accuracies
  std::int64_t step = 0, steps = 0, batch = 0;
  double loss = 0;  // of this step
  LiveCurve losses;
  std::vector<Epoch> epochs;
  double images_per_second = 0;  // over the last seconds; over all if the training has ended
  double elapsed_s = 0;
  std::string ending;  // why the training ended: "the training ended"; empty: it goes on
};

// HTML of the parts that change.
struct LiveSections {
  std::string summary, curves;
};

// How to draw the page. The thread of the page calls both.
struct LiveView {
  std::function<LiveSections(const LiveState&)> sections;
  // The whole page: the sections as elements with the ids `summary` and `curves`. Unless the state has an
  // ending, with a script that reads the events: `update` {"sections": {id: HTML}} and `done` {"reload"}.
  std::function<std::string(const LiveState&, const LiveSections&)> page;
};
LiveView plain_live_view();

// The time from one update to the next, at least. A page that is expensive to draw is drawn less often, so
// that it takes little from the training.
std::chrono::duration<double> live_pause(double drawing_seconds);

// The live page of one training. The functions that the training calls store what they are told and return;
// a thread of its own renders, at most twice a second and only while a browser is connected.
class LivePage : public TrainObserver {
 public:
  LivePage(LiveAddress address, std::string title, double keep_seconds, LiveView view = plain_live_view());
  ~LivePage() override;
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  std::string url() const { return server_.url(); }
  void begin(bool classifier, std::int64_t batch);
  void on_step(std::int64_t step, std::int64_t of, double loss) override;
  void on_epoch(const EpochResult& epoch) override;
  void end(const std::string& ending);  // the last update, and the final page of the view
  void show(std::string final_page);    // after end(): this page instead
  // After end(): says that it is over. Browsers load the final page if the server stays, which it does for as
  // long as the user asked for or until `stop` is true; otherwise they keep what they have.
  void keep(const std::function<bool()>& stop);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    Clock::time_point time;
    std::int64_t step = 0;
  };
  void render_until_end();
  LiveState snapshot();  // needs the lock
  void send_update(const LiveState& state);
  void send_done(bool reload);

  LiveView view_;
  double keep_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  LiveState state_;
  bool begun_ = false, epoch_ended_ = false, ended_ = false, over_ = false;
  Mark start_, earlier_, later_;  // the rate is the one since `earlier_`
  LiveServer server_;
  std::thread thread_;
};

}  // namespace headroom::cli

#pragma once

#include <vector>

#include "profile/step_watch.h"

namespace headroom {

// Tells a StepWatch where its steps begin and end. Without a watch nothing happens.
class WatchedSteps {
 public:
  explicit WatchedSteps(StepWatch* watch) : watch_(watch) {}

  // Before a step, and before an evaluation (not whole). `idle` waits until the device has nothing to do.
  template <class Idle>
  void before(bool whole, Idle&& idle) {
    if (watch_ == nullptr || state_ == State::done) return;
    if (!whole) return interrupt(idle);
    if (state_ == State::waiting && seen_ >= watch_->skip) {
      idle();
      watch_->attach();
      state_ = State::warming, seen_ = 0;
    } else if ((state_ == State::warming && seen_ >= watch_->warm_up) || state_ == State::paused) {
      idle();
      watch_->begin();
      state_ = State::open, since_begin_ = 0;
    }
  }

  template <class Idle>
  void after(bool whole, Idle&& idle) {
    if (watch_ == nullptr || !whole || state_ == State::done) return;
    ++seen_;
    if (state_ != State::open) return;
    ++since_begin_, ++watched_;
    if (watched_ < watch_->steps) return;
    finish(idle);
    if (watch_->next != nullptr) *this = WatchedSteps(watch_->next);
  }

  // The step had to be captured: data that lie at other addresses need a capture each, and none may fall into
  // the stretch.
  void not_warm_yet() {
    constexpr int kMaxDelays = 300;  // more captures than an executor keeps
    if (state_ == State::warming && delays_++ < kMaxDelays) seen_ = -1;
  }

  template <class Idle>
  void finish(Idle&& idle) {
    if (watch_ == nullptr || state_ == State::done) return;
    interrupt(idle);
    if (state_ != State::waiting) watch_->detach();
    state_ = State::done;
  }

  // The recorders of the next whole step; empty unless attached.
  Recorders recorders() const {
    const bool attached = watch_ != nullptr && state_ != State::waiting && state_ != State::done;
    return attached ? Recorders(watch_->recorders) : Recorders();
  }
  bool attached() const { return !recorders().empty(); }

 private:
  enum class State { waiting, warming, open, paused, done };

  template <class Idle>
  void interrupt(Idle&& idle) {
    if (state_ != State::open) return;
    idle();
    watch_->end(since_begin_);
    state_ = State::paused;
  }

  StepWatch* watch_;
  State state_ = State::waiting;
  std::int64_t seen_ = 0, since_begin_ = 0, watched_ = 0;
  int delays_ = 0;
};

}  // namespace headroom

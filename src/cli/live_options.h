#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"

namespace headroom::cli {

class LivePage;

// The user's words about the live page.
struct LiveOptions {
  std::optional<std::string> port;  // empty text: a free one; no text: no live page
  std::string address, token, keep;
};

void add_live_options(Command verb, LiveOptions& options);

// Rejects whatever can be seen without opening a port.
void require_live(const LiveOptions& options);

// Serves the page and tells its address on standard error. Null if the user did not ask for one.
std::unique_ptr<LivePage> open_live_page(const LiveOptions& options, std::string title);

}  // namespace headroom::cli

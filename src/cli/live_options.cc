#include "cli/live_options.h"

#include <algorithm>
#include <cctype>
#include <random>

#include "base/text.h"
#include "cli/live_page.h"
#include "cli/options.h"

namespace headroom::cli {
namespace {

constexpr std::int64_t kMaxPort = 65'535;
constexpr std::size_t kMinTokenLength = 8;
constexpr double kMaxKeepSeconds = 7 * 24 * 3600;

int live_port(const std::string& text) {
  if (text.empty()) return 0;
  const bool number = std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!number)
    reject(Hint{"write the model before --live, or a port after it: --live 0 takes a free one"},
           "--live is '{}', which is not a port", text);
  const std::int64_t port = text.size() > 5 ? kMaxPort + 1 : parse_int(text, "--live");
  if (port > kMaxPort) reject("--live is {}; a port must lie between 0 and {}", text, kMaxPort);
  return static_cast<int>(port);
}

double keep_seconds(const LiveOptions& options) {
  if (options.keep.empty()) return 0;
  const double seconds = parse_duration(options.keep, "--live-keep");
  if (seconds > kMaxKeepSeconds) reject("--live-keep is {}; the max is 7 days, 168h", options.keep);
  return seconds;
}

void require_token(const std::string& token) {
  const bool plain = std::ranges::all_of(
      token, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (!plain || token.size() < kMinTokenLength)
    reject(Hint{"leave --live-token out: with --live-address headroom makes one"},
           "--live-token must have at least {} letters, digits, - or _, and nothing else", kMinTokenLength);
}

// 128 bits that nobody can guess.
std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", device());
  return token;
}

}  // namespace

void add_live_options(Command verb, LiveOptions& options) {
  verb.option_with_optional_value(
      "--live", "[PORT]", options.port,
      "show the training on a page of this machine, updated as it goes; without a port: on a free one");
  verb.option("--live-address", options.address,
              "serve that page on this address, not on 127.0.0.1; 0.0.0.0: on all; readers need the token");
  verb.option("--live-token", options.token,
              "the word that readers must give as ?token=WORD; with --live-address a random one if left out");
  verb.option("--live-keep", options.keep,
              "keep serving the final page for so long after the training: 60s, 10m");
}

void require_live(const LiveOptions& options) {
  if (!options.port) {
    for (const auto& [name, value] : {std::pair{"--live-address", &options.address},
                                      {"--live-token", &options.token},
                                      {"--live-keep", &options.keep}})
      if (!value->empty()) reject(Hint{"add --live"}, "{} needs --live", name);
    return;
  }
  live_port(*options.port);
  keep_seconds(options);
  if (!options.token.empty()) require_token(options.token);
  require_live_server();
}

std::unique_ptr<LivePage> open_live_page(const LiveOptions& options, std::string title) {
  require_live(options);
  if (!options.port) return nullptr;
  LiveAddress address{.port = live_port(*options.port), .token = options.token};
  if (!options.address.empty()) {
    address.host = options.address;
    if (address.token.empty()) address.token = random_token();
  }
  auto page = std::make_unique<LivePage>(std::move(address), std::move(title), keep_seconds(options));
  note(fmt::format("headroom: live page at {}\n", page->url()));
  return page;
}

}  // namespace headroom::cli

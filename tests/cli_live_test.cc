// headroom train --live, as far as no browser is needed; tests/browser/ opens the page.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "support/program.h"

namespace headroom::testing {
namespace {

class CliLive : public ProgramTest {
 protected:
  void SetUp() override {
    const Json doctor = succeed_json({"doctor"});
    for (const Json& check : doctor.at("checks"))
      if (check.at("name") == "live page" && check.at("state") != "ok")
        GTEST_SKIP() << "headroom was built without cpp-httplib (libcpp-httplib-dev)";
  }
  static Words short_training(const Words& more) {
    return with({"train", "mlp:hidden=4", "--train-size", "64", "--test-size", "32", "--epochs", "1"}, more);
  }
};

// A port of this machine that somebody listens on.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { ::close(socket_); }
  std::string port() const { return std::to_string(port_); }

 private:
  int socket_, port_ = 0;
};

TEST_F(CliLive, TheResultIsTheSameAndTheAddressIsTold) {
  const Outcome plain = succeed(short_training({"--save", "plain.safetensors"}));
  const Outcome live = succeed(short_training({"--save", "live.safetensors", "--live"}));
  EXPECT_EQ(read_file(file("live.safetensors")), read_file(file("plain.safetensors")));
  EXPECT_EQ(live.err.find("headroom: live page at http://127.0.0.1:"), 0u) << live.err;
  EXPECT_EQ(plain.err.find("live page"), std::string::npos);
  succeed_json(short_training({"--live", "0"}));
}

TEST_F(CliLive, AnotherAddressGetsAToken) {
  const Outcome made = succeed(short_training({"--live", "--live-address", "127.0.0.1"}));
  const std::size_t at = made.err.find("/?token=");
  ASSERT_NE(at, std::string::npos) << made.err;
  EXPECT_EQ(made.err.find('\n', at) - at, std::string("/?token=").size() + 32) << made.err;
  const Outcome given =
      succeed(short_training({"--live", "--live-address", "127.0.0.1", "--live-token", "mine-alone"}));
  EXPECT_NE(given.err.find("/?token=mine-alone\n"), std::string::npos) << given.err;
}

TEST_F(CliLive, APortInUseIsRefusedBeforeTheTraining) {
  const TakenPort taken;
  expect_refused(short_training({"--save", "x.safetensors", "--live", taken.port()}),
                 {"port " + taken.port(), "in use", "--live 0"});
  // An address of a network for documents, which no machine has.
  expect_refused(short_training({"--live", "--live-address", "192.0.2.1"}), {"cannot listen on '192.0.2.1'"});
}

}  // namespace
}  // namespace headroom::testing

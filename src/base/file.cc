#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace headroom {
namespace {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

std::string reason() { return std::strerror(errno); }

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) reject("cannot read {}: {}", path.string(), reason());
  struct stat info {};
  if (::fstat(file.fd, &info) == 0 && S_ISDIR(info.st_mode))
    reject("cannot read {}: it is a folder", path.string());
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  for (;;) {
    if (done == bytes.size()) bytes.resize(bytes.size() + 4096);  // pipes, and files that grew meanwhile
    const ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) reject("cannot read {}: {}", path.string(), reason());
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::string aside = fmt::format("{}.{}.part", path.string(), ::getpid());
  try {
    const Descriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.fd < 0) reject("cannot write {}: {}", path.string(), reason());
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot write {}: {}", path.string(), reason());
      done += static_cast<std::size_t>(n);
    }
    if (::fsync(file.fd) != 0) fail("cannot write {}: {}", path.string(), reason());
    if (::rename(aside.c_str(), path.c_str()) != 0) reject("cannot write {}: {}", path.string(), reason());
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

void require_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) reject("cannot write {}: it is a folder", path.string());
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) reject("cannot write {}: {}", path.string(), reason());
}

std::filesystem::path cache_dir() {
  auto variable = [](const char* name) {
    return std::filesystem::path(std::getenv(name) ? std::getenv(name) : "");
  };
  if (const auto own = variable("HEADROOM_CACHE"); !own.empty()) return own;
  if (const auto xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "headroom";
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "headroom";
  return std::filesystem::temp_directory_path() / "headroom";
}

}  // namespace headroom

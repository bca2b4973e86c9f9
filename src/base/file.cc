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

std::string aside_of(const std::filesystem::path& path) {
  return fmt::format("{}.{}.part", path.string(), ::getpid());
}

// Terminals, pipes and /dev/null are written in place: a rename would replace the device with a file.
bool is_device(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// A link stays a link: its target is replaced.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target;
}

// `shown` is the name of the file for the user.
void write_bytes(const std::filesystem::path& path, const std::filesystem::path& shown, int flags,
                 std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.fd < 0) reject("cannot write {}: {}", shown.string(), reason());
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write {}: {}", shown.string(), reason());
    done += static_cast<std::size_t>(n);
  }
  const bool lives_on_disk = (flags & O_CREAT) != 0;
  if (lives_on_disk && ::fsync(file.fd) != 0) fail("cannot write {}: {}", shown.string(), reason());
}

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
    if (done == bytes.size()) bytes.resize(bytes.size() + 4096);  // pipes, and files that grew
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
  if (is_device(path)) return write_bytes(path, path, O_WRONLY, bytes);
  const std::filesystem::path target = behind_links(path);
  const std::string aside = aside_of(target);
  try {
    write_bytes(aside, path, O_WRONLY | O_CREAT | O_TRUNC, bytes);
    if (::rename(aside.c_str(), target.c_str()) != 0) reject("cannot write {}: {}", path.string(), reason());
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

void require_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) reject("cannot write {}: it is a folder", path.string());
  if (is_device(path)) {
    if (::access(path.c_str(), W_OK) != 0) reject("cannot write {}: {}", path.string(), reason());
    return;
  }
  const std::filesystem::path target = behind_links(path);
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::exists(folder, ignored))
    reject(Hint{"make the folder first, or name another"}, "cannot write {}: there is no folder {}",
           path.string(), folder.string());
  // Permissions do not cover everything (root, read-only and full file systems, long names), so try it.
  const std::string aside = aside_of(target);
  const Descriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.fd < 0) reject("cannot write {}: {}", path.string(), reason());
  ::unlink(aside.c_str());
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

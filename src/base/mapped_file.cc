#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace headroom {

MappedFile map_file(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) reject_unreadable(path);
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    ::close(fd);
    reject(Hint{"name a file"}, "cannot read {}: it is {}", path.string(),
           S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* at = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  ::close(fd);
  if (at == MAP_FAILED) reject("cannot read {}: {}", path.string(), std::strerror(error));
  if (at == nullptr) return {};
  return {{static_cast<const std::byte*>(at),
           [size](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); }},
          size};
}

}  // namespace headroom

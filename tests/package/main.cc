#include <headroom/version.h>

#include <iostream>

int main() {
  std::cout << "headroom " << headroom::version() << " (" << headroom::commit() << ", "
            << headroom::compiler() << ", " << headroom::build_type() << ")\n";
  return headroom::version().empty() ? 1 : 0;
}

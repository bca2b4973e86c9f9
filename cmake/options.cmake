# Flags every target of the project shares, as one interface library.
add_library(headroom_options INTERFACE)
target_compile_options(headroom_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Werror 
  # Designated initialisers leave defaults out on purpose. g++ 12 reports the other two inside its own std::string.
  -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized
  # GNU vector types change their calling convention with the target; nothing here passes them across a library.
  -Wno-psabi)
if(HEADROOM_NATIVE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(headroom_options INTERFACE -march=native)
  else()
    target_compile_options(headroom_options INTERFACE -mcpu=native)
  endif()
endif()
if(HEADROOM_SANITIZE)
  target_compile_options(headroom_options INTERFACE -fsanitize=${HEADROOM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(headroom_options INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()
find_program(HEADROOM_CCACHE ccache)
if(HEADROOM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEADROOM_CCACHE})
endif()

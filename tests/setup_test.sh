#!/usr/bin/env bash
# Tests scripts/setup on a fake machine: a copy of it runs with stubs of every command it calls, so nothing is
# installed and the state of this machine does not matter.
set -euo pipefail
setup=$(cd "$(dirname "$0")/.." && pwd)/scripts/setup
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export STATE=$root/state HEADROOM_D3=$root/d3.min.js
unset CXX
failures=0

stub() { cat >"$root/bin/$1" && chmod +x "$root/bin/$1"; }

# machine USER SUDO: a fresh machine; SUDO is yes if sudo needs no password. Files in $STATE/absent are the headers
# that machine lacks; installing a package adds its header, by the names below.
machine() {
  rm -rf "$root/bin" "$root/tree" "$STATE"
  mkdir -p "$root/bin" "$root/tree/scripts" "$STATE/absent"
  touch "$STATE/calls"
  cp "$setup" "$root/tree/scripts/setup"
  echo "echo $1" | stub id
  stub cmake <<<'echo "cmake version ${CMAKE_STUB:-3.25.1}"'
  stub protoc <<<'true'
  stub mpirun <<<'true'
  stub mpicc <<<'exit 1'
  stub python3 <<'STUB'
#!/usr/bin/env bash
if [[ $1 == -c ]]; then [[ ! -e $STATE/absent/tensorboard ]] && exit || exit 1; fi
echo "python3 $*" >>"$STATE/calls"
if [[ -e $STATE/pip_broken ]]; then exit 1; fi
rm -f "$STATE/absent/tensorboard"
STUB
  for name in pkg-config chromium chromedriver qemu-aarch64; do stub "$name" <<<'true'; done
  touch "$HEADROOM_D3"
  stub c++ <<'STUB'
#!/usr/bin/env bash
if [[ $1 == -print-multiarch ]]; then echo some-arch && exit; fi
text=$(cat)
for file in "$STATE"/absent/*; do
  if [[ -e $file && $text == *"<$(<"$file")>"* ]]; then exit 1; fi
done
STUB
  stub apt-get <<'STUB'
#!/usr/bin/env bash
echo "apt-get $*" >>"$STATE/calls"
if [[ -e $STATE/apt_broken ]]; then echo "E: broken" && exit 100; fi
if [[ -e $STATE/unknown && " $* " == *" $(<"$STATE/unknown") "* ]]; then echo "E: no such package" && exit 100; fi
if [[ $1 == install ]]; then for package in "${@:2}"; do rm -f "$STATE/absent/$package"; done; fi
if [[ " $* " == *" node-d3 "* ]]; then touch "$HEADROOM_D3"; fi
STUB
  if [[ $2 == yes ]]; then
    stub sudo <<<'echo "sudo" >>"$STATE/calls"; shift; exec "$@"'
  else
    stub sudo <<<'exit 1'
  fi
}

lacks() { echo "$2" >"$STATE/absent/$1"; }
run() { status=0 && output=$(PATH="$root/bin:$PATH" "$root/tree/scripts/setup" "$@" 2>&1) || status=$?; }
# The same where only the stubs and a few tools are on the PATH, so that a command without a stub is missing.
run_bare() {
  rm -rf "$root/tools" && mkdir "$root/tools"
  for tool in bash cat cksum dirname env grep head mkdir rm sed sort tail; do
    ln -s "$(type -P "$tool")" "$root/tools/$tool"
  done
  status=0
  output=$(PATH="$root/bin:$root/tools" "$root/tree/scripts/setup" "$@" 2>&1) || status=$?
}
calls() { grep -c "$1" "$STATE/calls" || true; }

expect() {  # WHAT GOT WANT
  if [[ $2 != "$3" ]]; then
    printf 'FAILED %s\n  got:  %s\n  want: %s\n  output: %s\n' "$1" "$2" "$3" "$output"
    failures=$((failures + 1))
  fi
}

machine 0 no
run test
expect "nothing missing: done" $status 0
expect "nothing missing: silent" "$output" ""
expect "nothing missing: apt-get left alone" "$(calls .)" 0

machine 0 no
lacks libfmt-dev fmt/format.h
lacks zlib1g-dev zlib.h
run test
expect "root: done" $status 0
expect "root: updates once, installs what is missing and no more" "$(<"$STATE/calls")" \
  "apt-get update
apt-get install -y --no-install-recommends libfmt-dev zlib1g-dev"
lacks libfmt-dev fmt/format.h
run test
expect "second run: looks at nothing" "$(calls .)" 2
touch -d '+2 seconds' "$root/tree/scripts/setup"
run test
expect "script newer than its stamp: looks again" "$(calls .)" 4

machine 0 no
lacks libgtest-dev gtest/gtest.h
run demo
expect "demo: needs no GoogleTest" "$status $(calls .)" "0 0"
run test
expect "test: needs GoogleTest" "$status $(calls 'install .* libgtest-dev$')" "0 1"

machine 1000 no
lacks libcli11-dev CLI/CLI.hpp
lacks libopenblas-openmp-dev cblas.h
run demo
expect "no root, no sudo: stops" $status 1
expect "no root, no sudo: one line to run" "$(grep apt-get <<<"$output")" "  sudo apt-get update && sudo apt-get install\
 -y --no-install-recommends libopenblas-openmp-dev libcli11-dev"
expect "no root, no sudo: installs nothing" "$(calls .)" 0
run demo
expect "no root, no sudo: says so again" $status 1

machine 1000 yes
lacks nlohmann-json3-dev nlohmann/json.hpp
run demo
expect "sudo: done" $status 0
expect "sudo: used for apt-get" "$(calls sudo) $(calls 'install .* nlohmann-json3-dev$')" "3 1"

machine 0 no
lacks libcurl4-openssl-dev curl/curl.h
run demo
expect "optional, root: installed" "$status $(calls 'install .* libcurl4-openssl-dev$')" "0 1"

machine 1000 no
lacks libpng-dev png.h
lacks libjpeg-dev jpeglib.h
run demo
expect "optional, no root: done without" "$status $(calls .)" "0 0"
expect "optional, no root: says what is left out" "$(grep -c 'without libpng-dev libjpeg-dev' <<<"$output")" 1

machine 0 no
lacks libopenmpi-dev mpi.h
run test
expect "ranks, root: installed" "$status $(calls 'install .* libopenmpi-dev$')" "0 1"

machine 1000 no
lacks libopenmpi-dev mpi.h
run test
expect "ranks, no root: done without" "$status $(grep -c 'without libopenmpi-dev' <<<"$output")" "0 1"

machine 0 no
lacks libpng-dev png.h
touch "$STATE/apt_broken"
run demo
expect "optional, apt-get fails: done without" "$status" 0

machine 1000 no
lacks tensorboard tensorboard
run demo
expect "demo: needs no TensorBoard" "$status $(calls .)" "0 0"
run test
expect "test: TensorBoard comes by pip, without root" "$status $(calls 'pip install .* tensorboard$')" "0 1"

machine 0 no
lacks tensorboard tensorboard
touch "$STATE/pip_broken"
run test
expect "test, pip fails: done without TensorBoard" "$status $(grep -c 'without tensorboard' <<<"$output")" "0 1"

machine 0 no
lacks libcpp-httplib-dev httplib.h
rm "$HEADROOM_D3"
run demo
expect "live page, root: installed" "$status $(calls 'install .* libcpp-httplib-dev node-d3$')" "0 1"

machine 1000 no
lacks libcpp-httplib-dev httplib.h
rm "$HEADROOM_D3"
run demo
expect "live page, no root: done without" "$status $(grep -c 'without libcpp-httplib-dev node-d3' <<<"$output")" "0 1"

machine 0 no
stub ninja <<<'true'
rm "$root"/bin/{chromium,chromedriver}
run_bare demo
expect "demo: needs no browser" "$status $(calls .)" "0 0"
run_bare test
expect "test: wishes for a browser" "$status $(calls 'install .* chromium chromium-driver$')" "0 1"
expect "test: done without a browser" "$(grep -c 'without chromium chromium-driver' <<<"$output")" 1

machine 0 no
lacks libpng-dev png.h
lacks libcpp-httplib-dev httplib.h
echo libcpp-httplib-dev >"$STATE/unknown"
run demo
expect "optional, one unknown package: the others are installed" "$status $(calls 'install .* libpng-dev$')" "0 1"
expect "optional, one unknown package: named" "$(grep -c 'without libcpp-httplib-dev;' <<<"$output")" 1

machine 0 no
CMAKE_STUB=3.18.4 run demo
expect "old cmake: asked for, and not taken when it stays old" "$status $(calls 'install .* cmake$')" "1 1"
CMAKE_STUB=4.0.2 run demo
expect "newer cmake: accepted" $status 0

machine 0 no
lacks zlib1g-dev zlib.h
touch "$STATE/apt_broken"
run demo
expect "apt-get fails: so does setup" "$status" 1
expect "apt-get fails: its words are shown" "$(grep -c 'E: broken' <<<"$output")" 2
rm "$STATE/apt_broken"
run demo
expect "apt-get works again: done" $status 0

if ((failures)); then echo "$failures expectations failed" && exit 1; fi
echo "all expectations met"

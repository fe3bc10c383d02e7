#!/usr/bin/env bash
# Writes requirements/*.txt with hashes and without registry addresses. uv.lock holds addresses, so it stays out of git.
# usage: export.sh UV [--upgrade]
set -euo pipefail
uv=$1; shift
cd "$(dirname "$0")/.."
"$uv" lock --quiet "$@"
for group in edge worker dashboard system dev; do
  "$uv" export --quiet --frozen --group "$group" --no-default-groups --no-header --no-annotate --no-emit-project \
    --format requirements.txt > "requirements/$group.txt"
done
# uv itself is in the lock: pip needs only this one to start.
awk '/^uv==/ {on=1} on {print} on && !/\\$/ {exit}' requirements/system.txt > requirements/bootstrap.txt

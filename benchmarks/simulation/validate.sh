#!/usr/bin/env bash
# Compares the simulation with one and with four real servers on this machine, which must be idle:
#
#   benchmarks/simulation/validate.sh MODEL.gguf [OUTPUT_FOLDER]
#
# Each server computes with one thread. Four of them share the cores: up to as many as there are cores run at full speed,
# and the simulation slows down steps beyond that. The costs of steps are measured under the same conditions: by one
# `inferno bench` alone for one server, and by as many at the same time as there are cores for four.
set -euo pipefail
cd "$(dirname "$0")/../.."

model=${1:?usage: validate.sh MODEL.gguf [OUTPUT_FOLDER]}
output=${2:-target/validation}
inferno=${INFERNO_BINARY:-target/release/inferno}
simulation=${SIMULATION_BINARY:-benchmarks/simulation/target/release/inferno-simulation}
cores=$(nproc)
servers=4
# About half of the capacity, so that queues form and empty again.
rate=${RATE:-0.04}
workload=(--duration "${DURATION:-420}" --warm-up 60 --system-prompts 8 --system-tokens 192 --message-tokens 64
  --reply-tokens 48 --turns 3 --think-time 5 --context 1536 --kv-cache-tokens 6144)
mkdir -p "$output"

processes=()
trap '[ ${#processes[@]} = 0 ] || kill "${processes[@]}" 2>/dev/null || true' EXIT

# Measures steps with `$1` processes at a time, and writes a cost model to `$2`.
measure() {
  local copies=$1 costs=$2 reports=() arguments jobs copy report
  for arguments in "-p 1024 -n 24 --batch 2,4,8" "-p 48 -n 16 -d 1024 --batch 2,4,8"; do
    jobs=()
    for copy in $(seq "$copies"); do
      report="$output/bench-$copies-$copy-$(echo "$arguments" | tr -c 'a-z0-9\n' _).json"
      # shellcheck disable=SC2086
      "$inferno" bench -m "$model" --threads 1 $arguments -r 5 -o json >"$report" 2>/dev/null &
      jobs+=($!)
      reports+=("$report")
    done
    for job in "${jobs[@]}"; do wait "$job"; done
  done
  "$simulation" fit "${reports[@]}" >"$costs" 2>"$output/fit-$copies.txt"
}

# Compares `$1` servers, of which `$2` run at full speed, with the costs in `$3` and the policy `$4`.
compare() {
  local count=$1 full_speed=$2 costs=$3 policy=$4 urls
  urls=$(seq -f "http://127.0.0.1:%g" -s , 8101 $((8100 + count)))
  printf '\n%s, %s\n\n' "$count server(s)" "$policy"
  "$simulation" validate --urls "$urls" --full-speed-replicas "$full_speed" --costs "$costs" --policy "$policy" \
    --rate "$rate" "${workload[@]}"
}

measure 1 "$output/costs-1.json"
measure "$cores" "$output/costs-$cores.json"

# Starts all servers with empty caches.
start() {
  local index
  for index in $(seq "$servers"); do
    "$inferno" serve -m "$model" --threads 1 --port $((8100 + index)) --context 1536 --kv-cache-tokens 6144 \
      >/dev/null 2>"$output/server-$index.log" &
    processes+=($!)
  done
  for index in $(seq "$servers"); do
    timeout 300 bash -c "until curl -sf http://127.0.0.1:$((8100 + index))/health >/dev/null; do sleep 0.2; done"
  done
}

stop() {
  kill "${processes[@]}"
  wait "${processes[@]}" || true
  processes=()
}

status=0
start
compare 1 1 "$output/costs-1.json" round-robin || status=1
stop
start
compare "$servers" "$cores" "$output/costs-$cores.json" round-robin || status=1
stop
start
compare "$servers" "$cores" "$output/costs-$cores.json" cache-aware || status=1
stop
exit $status

#!/usr/bin/env bash
# Compares the simulation with one and with four real servers on this machine, which must be idle:
#
#   benchmarks/simulation/validate.sh MODEL.gguf [OUTPUT_FOLDER]
#
# It takes three times DURATION seconds (420 by default), and a few minutes. RATE is the number of conversations per second and
# server; about half of the capacity makes queues form and empty again. What was measured is saved in the output folder, so that
# a changed simulation can be compared with it (`inferno-simulation validate --measured`).
#
# Each server computes with one thread. Four of them share the cores and the memory. The costs of steps are measured under the
# same conditions: by one `inferno bench` alone, and by as many at the same time as there are cores. The simulation interpolates
# between both, and slows down steps further while there are more than cores.
set -euo pipefail
model=$(realpath "${1:?usage: validate.sh MODEL.gguf [OUTPUT_FOLDER]}")
root=$(realpath "$(dirname "$0")/../..")
output=$(realpath --canonicalize-missing "${2:-$root/target/validation}")
cd "$root"
inferno=${INFERNO_BINARY:-target/release/inferno}
simulation=${SIMULATION_BINARY:-benchmarks/simulation/target/release/inferno-simulation}
cores=$(nproc)
servers=4
rate=${RATE:-0.04}
workload=(--duration "${DURATION:-420}" --warm-up "${WARM_UP:-60}" --system-prompts 8 --system-tokens 192 --message-tokens 64
  --reply-tokens 48 --turns 3 --think-time 5 --context 1536 --kv-cache-tokens 6144)
mkdir -p "$output"

processes=()
trap '[ ${#processes[@]} = 0 ] || kill "${processes[@]}" 2>/dev/null || true' EXIT

# Measures steps with `$1` processes at a time, and writes a cost model to `$2`.
measure() {
  local copies=$1 costs=$2 reports=() arguments jobs copy report
  # Enough repetitions that the copies run at the same time. Prompts of any length: multiples of 16 tokens cost less per token.
  for arguments in "-p 1024 -n 24 --batch 2,4,8 -r 5" "-p 120 -n 16 -d 1024 --batch 2,4,8 -r 5" "-p 8 -n 0 -r 100" \
    "-p 27 -n 0 -r 60" "-p 50 -n 0 -r 30" "-p 90 -n 0 -r 20" "-p 150 -n 0 -r 12" "-p 230 -n 0 -r 8"; do
    jobs=()
    for copy in $(seq "$copies"); do
      report="$output/bench-$copies-$copy-$(echo "$arguments" | tr -c 'a-z0-9\n' _).json"
      # shellcheck disable=SC2086
      "$inferno" bench -m "$model" --threads 1 $arguments -o json >"$report" 2>/dev/null &
      jobs+=($!)
      reports+=("$report")
    done
    for job in "${jobs[@]}"; do wait "$job"; done
  done
  "$simulation" fit "${reports[@]}" >"$costs" 2>"$output/fit-$copies.txt"
}

# Compares `$1` servers, of which `$2` run at full speed, with the policy `$3`.
compare() {
  local count=$1 full_speed=$2 policy=$3 urls
  urls=$(seq -f "http://127.0.0.1:%g" -s , 8101 $((8100 + count)))
  printf '\n%s, %s\n\n' "$count server(s)" "$policy"
  "$simulation" validate --urls "$urls" --full-speed-replicas "$full_speed" --policy "$policy" --rate "$rate" \
    --costs "$output/costs-1.json" --contended-costs "$output/costs-$cores.json" "${workload[@]}" \
    --save "$output/measured-$count-$policy.json"
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
compare 1 1 round-robin || status=1
stop
start
compare "$servers" "$cores" round-robin || status=1
stop
start
compare "$servers" "$cores" cache-aware || status=1
stop
exit $status

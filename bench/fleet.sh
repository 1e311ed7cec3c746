#!/usr/bin/env bash
# Measures everything that README and docs say of machines with several GPUs, in order of worth.
#
#   bench/fleet.sh OUT [ITEM...]
#
# Items, all by default: tune (all GPUs, then smaller groups), tests (nccl-tests of four collectives, beside NCCL),
# bench (the table of README), jobs (PyTorch), others (nccl-tests of the other collectives), nodes (two halves of the
# GPUs as two nodes over UCX), lanes (programs in lanes, and an OLD build beside this), synth (synthesised programs),
# bits (sums of MSCCLC_BITS=invariant: their bits, and their times beside NCCL).
#
# Each item is of steps. A step writes a table to OUT/tables as soon as it is whole. It is skipped if that table is
# there or in the folder of bench/fleet for the machine, where a session commits it. So the script can be called again
# and again. No step starts after LIMIT seconds. It prints the minutes of each item. Multicast of NVLink is off.
#
# Variables:
#
#   MSCCLC      the command to measure (mscclc)
#   NCCL_TESTS  a folder of the sources of nccl-tests; items tests and others need it
#   LIMIT       seconds of a call (540)
#   TUNE        more arguments of mscclc tune, such as "--time 3m"
#   END         the largest calls of nccl-tests (1G)
#   ROUNDS      how often each way of nccl-tests and jobs runs, in turns (2)
#   UCX         a folder with the libraries of UCX, if the machine has none
#   OLD, TEST   of lanes: an older build of mscclc, and the test binary of executor/cuda
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:?a folder}/tables" "$1/logs"
out=$(realpath "$1") limit=${LIMIT:-540} end=${END:-1G} rounds=${ROUNDS:-2}
shift
[ $# -gt 0 ] || set -- tune tests bench jobs others nodes lanes synth bits
mscclc=$(realpath "$(command -v "${MSCCLC:-mscclc}")") || exit 2
. .ci/nccltests
export TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
gpus=$(nvidia-smi -L | wc -l)
name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
machine=$(echo "${name#NVIDIA }" | tr -dc '[:alnum:]' | tr '[:upper:]' '[:lower:]')x$gpus
logs=$out/logs

step() { # TABLE SECONDS COMMAND...: a table of what the command prints. SECONDS is what it takes at most
    local table=$1 start=$SECONDS most=$2 part=$out/tables/$1.part left=$((limit + 20 - SECONDS))
    shift 2
    [ -e "bench/fleet/$machine/$table.txt" ] || [ -e "$out/tables/$table.txt" ] && return
    if [ $((SECONDS + most / 3)) -ge "$limit" ]; then echo "$table: no time is left"; return; fi
    printf '%s x %s, NCCL without multicast, %s\n\n' "$gpus" "$name" "$(date -u +%F)" >"$part"
    [ "$most" -lt "$left" ] || most=$left
    if timeout -k 5 "$most" bash -c '"$@"' - "$@" >>"$part" 2>"$logs/$table.err" </dev/null; then
        mv "$part" "$out/tables/$table.txt"
        echo "$table: $((SECONDS - start)) s"
    else
        echo "$table: fails after $((SECONDS - start)) s"
        tail -n 5 "$part"
        tail -n 5 "$logs/$table.err"
    fi
}

tune_group() { # RANKS ARGUMENT...: tunes, and prints what was found
    local log=$logs/tune-$1${2+-bits}.log
    "$mscclc" tune --ranks "$1" ${TUNE:-} "${@:2}" >"$log" 2>&1 || { tail -n 20 "$log"; return 1; }
    cat "$log"
    "$mscclc" tune --show --ranks "$1" "${@:2}"
    mkdir -p "$out/cache"
    cp -r "${MSCCLC_CACHE:-$HOME/.cache/mscclc}/tuned" "$out/cache/" 2>/dev/null || true
}

test_pair() { # TEST G: nccl-tests with NCCL alone and with the library, in turns
    local who round with
    for round in $(seq "$rounds"); do
        for who in nccl ours; do
            with=()
            [ "$who" = nccl ] || with=("$mscclc" with --)
            "${with[@]}" mpirun -np "$gpus" --oversubscribe "$out/mpied/${1}_perf" -b 8 -e "$end" -f 2 -n 20 -w 5 -c 1 \
                -d bfloat16 -G "$2" -g 1 >"$logs/$1-G$2-$who-$round.log" 2>&1 ||
                { echo "$1 -G $2 with $who fails"; tail -n 5 "$logs/$1-G$2-$who-$round.log"; return 1; }
        done
    done
    .ci/ratios "$logs" "$1-G$2"
}

bench() { # COLLECTIVE ARGUMENT...: the rows of mscclc bench beside NCCL, with a process for each rank
    "$mscclc" bench "$1" --device cuda --procs "$gpus" --vs nccl "${@:2}"
}

job() { # SCRIPT...: runs of both ways, in turns; the lines that the script prints
    local round who with
    for round in $(seq "$rounds"); do
        for who in NCCL mscclc; do
            with=()
            [ "$who" = NCCL ] || with=("$mscclc" with --)
            (cd examples/pytorch && timeout 60 "${with[@]}" torchrun --nproc-per-node "$gpus" "$@") \
                >"$logs/job-$1-$who.log" 2>&1 || { echo "$who fails"; tail -n 5 "$logs/job-$1-$who.log"; }
            grep -hE 'alike|DIFFERENT|elements|token|forward' "$logs/job-$1-$who.log" | sed "s/^/$who  /"
        done
    done
}

invariant() { # the bits of sums, with MSCCLC_BITS=invariant and of NCCL, whose bits may differ
    MSCCLC_BITS=invariant job invariant.py
    ! grep -q DIFFERENT "$logs/job-invariant.py-mscclc.log"
}

halves() { # COMMAND...: with a process for each GPU, as two nodes over UCX's TCP, and NCCL over sockets
    export UCX_TLS=tcp,self half=$(((gpus + 1) / 2))
    [ -z "${UCX:-}" ] || export LD_LIBRARY_PATH=$UCX:${LD_LIBRARY_PATH:-} UCX_MODULE_DIR=$UCX/ucx
    mpirun -np "$gpus" --oversubscribe bash -c \
        'export MSCCLC_NODE=h$((OMPI_COMM_WORLD_RANK / half)); NCCL_HOSTID=$MSCCLC_NODE exec "$@"' - "$@"
}

old_beside() { ROUNDS=2 RANKS=$gpus LIMIT=150 .ci/gpus "$OLD" "$mscclc" "$TEST"; }

lanes() { # how much programs in several lanes take beside those in one
    local n
    for n in 1 2 4; do
        echo "lanes: $n"
        "$mscclc" bench allreduce/allpairs -p ranks="$gpus" --device cuda --procs "$gpus" --vs nccl --lanes "$n" -b 1M \
            -e 256M -f 16 --place out
    done
}

synth() { # COLLECTIVE: trees for this machine, beside NCCL
    "$mscclc" synthesize "$1" -t "h200:gpus=$gpus" -o "$logs/synth-$1.mscl" &&
        "$mscclc" bench "$logs/synth-$1.mscl" --device cuda --procs "$gpus" --vs nccl -b 64K -e 1G -f 16
}

all_tests() { # COLLECTIVES...
    local test g
    [ -n "${NCCL_TESTS:-}" ] || { echo 'NCCL_TESTS is not set'; return; }
    build_tests "$NCCL_TESTS" "$out" || return
    for test in "$@"; do
        for g in 20 0; do step "nccltests-$test-G$g" 120 test_pair "$test" "$g"; done
    done
}

item() {
    local n c
    case $1 in
    tune)
        for ((n = gpus; n >= 2; n /= 2)); do step "tune-$n" 400 tune_group "$n"; done ;;
    tests) all_tests all_reduce all_gather reduce_scatter alltoall ;;
    bench) for c in allreduce allgather reducescatter alltoall; do step "bench-$c" 60 bench "$c"; done ;;
    jobs)
        step job-ddp 150 job train.py --parallel ddp
        step job-fsdp 150 job train.py --parallel fsdp --batch 48
        step job-tp 150 job train.py --parallel tp
        step job-transformers 150 job transformers_tp.py
        step job-decode 300 job decode.py ;;
    others)
        all_tests broadcast reduce gather scatter sendrecv
        for c in broadcast reduce sendrecv; do step "bench-$c" 60 bench "$c"; done ;;
    nodes)
        for c in allreduce allgather; do
            step "nodes-$c" 90 halves "$mscclc" bench "$c" --device cuda --vs nccl -b 1K -e 64M -f 16 --place out
        done ;;
    lanes)
        step lanes 90 lanes
        [ -z "${OLD:-}" ] || step old-beside 240 old_beside ;;
    bits)
        for ((n = gpus; n > 2; n /= 2)); do step "tune-$n-bits" 200 tune_group "$n" --bits invariant; done
        step bits 240 invariant ;;
    synth) for c in allgather reducescatter allreduce alltoall; do step "synth-$c" 60 synth "$c"; done ;;
    *) echo "$1 is no item" >&2; exit 2 ;;
    esac
}

export -f tune_group test_pair bench job invariant halves old_beside lanes synth
export mscclc out logs gpus end rounds
for it in "$@"; do
    start=$SECONDS
    item "$it"
    awk -v n="$it" -v s=$((SECONDS - start)) 'BEGIN { printf "%s: %.1f min\n", n, s / 60 }'
done

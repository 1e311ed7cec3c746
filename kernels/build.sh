#!/usr/bin/env bash
# Builds the kernels' images, and packs them into images/ beside this script. With FOLDER, they are written there, a
# file each; ONLY names types and TARGETS targets to build there. Each element type and target has four images; one of
# them is for one-sided programs, one for programs with a port, and one for programs of several nodes. NVIDIA's have
# another of those, for programs whose replicas share CTAs. Some types also have two images that trace, one for each
# kind of program, one that takes one-sided programs through NVLink's switch, and one for programs with an epilogue.
# They are the same bytes on every machine with clang-19 and lld-19 as Debian 12 has them. PTX is for NVIDIA's driver,
# which compiles it for the GPU at hand; code objects are for AMD's.
set -euo pipefail
if [ -n "${1:-}" ]; then
    out=$(realpath -m "$1")
    mkdir -p "$out"
else
    [ -z "${ONLY:-}${TARGETS:-}" ] || { echo 'ONLY and TARGETS need a FOLDER' >&2; exit 2; }
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
cd "$(dirname "$0")"
clang=${CLANG:-clang++-19}

common="-O3 -std=c++17 -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra -Werror --cuda-device-only"
common="$common -mllvm -disable-lsr -mllvm -disable-vector-combine"
nv="-x cuda -nocudainc -nocudalib -S $common"
amd="-x hip -nogpuinc -nogpulib --no-gpu-bundle-output -fuse-cuid=none -fno-crash-diagnostics $common"

# image TARGET TYPE NAME SOURCE PREFIX: TYPE is the element as values/types.h has it, NAME as users do; PREFIX -
# is none.
image() {
    local flags file=$out/${5#-}$3_$1
    case $1 in
    sm_*) flags="$nv --cuda-gpu-arch=$1 --cuda-feature=+ptx74" ;;
    gfx*) flags="$amd --offload-arch=$1" ;;
    esac
    case $5 in
    trace_*) flags+=" -DKERNEL_TRACE -DKERNEL_NET" ;;
    port_) flags+=" -DKERNEL_PORT" ;;
    net_) flags+=" -DKERNEL_PORT -DKERNEL_NET" ;;
    together_) flags+=" -DKERNEL_PORT -DKERNEL_NET -DKERNEL_TOGETHER" ;;
    onesided_ | trace_) case $2 in f16 | bf16 | float) flags+=" -DKERNEL_AVERAGES" ;; esac ;;
    switch_) flags="$nv --cuda-gpu-arch=$1 --cuda-feature=+ptx82" ;; # multimem
    esac
    $clang $flags -DKERNEL_TYPE=$2 gpu/$4.cc -o "$file"
}
export -f image
export out clang nv amd
types="f16:f16 bf16:bf16 float:f32 double:f64 i8:i8 u8:u8 i32:i32 u32:u32 i64:i64 u64:u64 e4m3:e4m3 e5m2:e5m2"
wanted() { # TYPE:NAME...: those that ONLY names, of an image of each; by default all
    for t in "$@"; do
        [[ -n ${ONLY:-} && " $ONLY " != *" ${t#*:} "* ]] || echo "$t"
    done
}
sums() { sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1; } # of files whose names are read
{
    for target in ${TARGETS:-sm_70 sm_80 gfx90a gfx942}; do
        for t in $(wanted $types); do
            echo "$target ${t/:/ } kernel -"
            echo "$target ${t/:/ } kernel_onesided onesided_"
            echo "$target ${t/:/ } kernel_onesided port_"
            echo "$target ${t/:/ } kernel_onesided net_"
            # a barrier of AMD's is for all threads of a block
            [[ $target != sm_* ]] || echo "$target ${t/:/ } kernel_onesided together_"
        done
    done
    for t in $(wanted f16:f16 bf16:bf16 float:f32 i32:i32); do # whose steps are traced
        echo "sm_80 ${t/:/ } kernel_onesided trace_"
        echo "sm_80 ${t/:/ } kernel trace_two_"
    done
    for t in $(wanted f16:f16 bf16:bf16 float:f32); do # which NVLink's switch adds up
        echo "sm_90 ${t/:/ } kernel_switch switch_"
    done
    for target in ${TARGETS:-sm_70 sm_80 gfx90a gfx942}; do
        for t in $(wanted f16:f16 bf16:bf16 float:f32); do # sums of programs with an epilogue
            echo "$target ${t/:/ } kernel_rows rows_"
        done
    done
} | xargs -P "$(nproc)" -L 1 bash -c 'set -euo pipefail; image "$@"' image
[ -n "${1:-}" ] || {
    go run ./pack "$out" images
    export LC_ALL=C
    sources=$(find abi few gpu loop moves platform protocol rows values -name '*.h' -o -name '*.cc')
    {
        echo "$(printf '%s\n' build.sh $sources | sums) sources"
        echo "$(printf 'images/%s\n' amd.zst cuda.zst index | sums) images"
    } >images.sum
}

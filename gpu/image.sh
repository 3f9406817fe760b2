#!/bin/bash
# Makes the kernel with nvcc, as a C source with its bytes, and a list of what ptxas says of it.
#     NVCC=nvcc gpu/image.sh KERNEL 80 90 100      makes KERNEL.image.c and KERNEL.txt
#
# The PTX says that it is as old as its own instructions let it (6.3, of CUDA 10.0), not as old as nvcc is:
# drivers refuse what calls itself newer than they are.
set -euo pipefail
cd "$(dirname "$0")/.."
to=$(realpath -m "$1")
shift
# Another build may make the same at the same time.
scratch=$(mktemp -d "$to.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
kernel=$scratch/kernel
ptx_version=6.3 ptx_device=75

# Its bytes, and a 0 behind them that does not count. A compiler reads a string in a tenth of the time of numbers.
array() {
    echo "const unsigned char $1[] __attribute__((aligned(64))) ="
    if [ -n "$2" ]; then od -An -v -to1 "$2" | sed 's/ /\\/g; s/.*/"&"/'; fi
    echo '"";'
    echo "const size_t $1_bytes = sizeof $1 - 1;"
}

source_of() {
    echo "/* Made by gpu/image.sh. */"
    echo '#include "gpu/image.h"'
    array stk_gpu_fatbin "$1"
    array stk_gpu_ptx "$2"
}

no_kernel() {
    source_of '' '' >"$kernel.image.c"
    mv "$kernel.image.c" "$to.image.c"
    exit 0
}

# A compiler that is too old for some of it must not keep the rest from being built.
left_out() {
    echo "make: $NVCC makes no $1, so there will be none: $(grep -m 1 -iE 'fatal|error' "$kernel.said")" >&2
}

[ -n "${NVCC:-}" ] || no_kernel

tools=$(dirname "$NVCC")
compile() {
    "$NVCC" -std=c++17 -O3 -fmad=false -I. gpu/kernel.cu "$@"
}

if ! compile -ptx -arch="compute_$ptx_device" -o "$kernel.newer.ptx" 2>"$kernel.said"; then
    left_out "kernel for a GPU"
    no_kernel
fi
sed "s/^\.version .*/.version $ptx_version/" "$kernel.newer.ptx" >"$kernel.ptx"
"$tools/ptxas" -arch="sm_$ptx_device" -o "$kernel.$ptx_device.cubin" "$kernel.ptx"

touch "$kernel.txt"
images=("--image3=kind=ptx,sm=$ptx_device,file=$kernel.ptx")
for device; do
    if ! compile -cubin -arch="sm_$device" -Xptxas -v -o "$kernel.$device.cubin" 2>"$kernel.said"; then
        left_out "machine code for sm_$device"
        continue
    fi
    cat "$kernel.said" >>"$kernel.txt"
    images+=("--image3=kind=elf,sm=$device,file=$kernel.$device.cubin")
done
"$tools/fatbinary" -64 --create="$kernel.fatbin" "${images[@]}"
source_of "$kernel.fatbin" "$kernel.ptx" >"$kernel.image.c"
for made in txt ptx image.c; do
    mv "$kernel.$made" "$to.$made"
done

#!/bin/sh
# The controls that are Python modules, which without a GPU run on the processor (tests/cheats/run), on the GPU itself.
cd "$(dirname "$0")/../.." || exit 3
if ! "${KWRIGHT:-build/kwright}" doctor | grep -q '^\(device\)\{0,1\}  *nvidia  *ok'; then
	echo "1..0 # SKIP no NVIDIA GPU"
	exit 0
fi
KW_CONTROLS="--jobs ${KW_JOBS:-4} -v --device nvidia"
export KW_CONTROLS
exec tests/cheats/run $(ls tests/cheats/mo_*.py tests/cheats/honest/mo_*.py | sed 's|.*/||; s|\.py$||')

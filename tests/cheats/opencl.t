#!/bin/sh
# The controls in OpenCL, apart from the others: together they would take one program too long.
KW_CONTROLS=
export KW_CONTROLS
exec "$(dirname "$0")/run" --only cl

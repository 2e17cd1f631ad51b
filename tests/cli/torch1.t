#!/bin/sh
# A third of the cases of tests/cli/*.test that need a Python with PyTorch, each skipped without one; tests/cli/run explains their form.
exec "$(dirname "$0")/run" --torch 1/3

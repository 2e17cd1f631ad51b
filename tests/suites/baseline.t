#!/bin/sh
# Batches of baselines from PyTorch that are bound by their launches: baseline.py, without PyTorch.
exec python3 "$(dirname "$0")/baseline.py" "$(dirname "$0")/../.."

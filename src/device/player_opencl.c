#include "device/runner.h"
static void prepare(struct player *p){ (void)p; kw_player_fault("no OpenCL yet", 0);}
const struct runner kw_runner_opencl = { .prepare = prepare };

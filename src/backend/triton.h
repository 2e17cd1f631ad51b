/* triton.h - what the Triton backend and the device that interprets its kernels share.
 *
 * The artefact for that device ("triton-source") is the question that the compiler was asked, as JSON: the source, the values of its
 * constants, and per kernel the types of its arguments. */
#ifndef KW_BACKEND_TRITON_H
#define KW_BACKEND_TRITON_H

/* In the arch of that device's hardware, behind the architecture that its kernels are compiled for: "sm_90a interpreter". */
#define KW_TRITON_INTERPRETER "interpreter"
/* What python/triton_source.py calls the source: of an artefact, which is kept under no name. */
#define KW_TRITON_FILE "candidate.py"

#endif

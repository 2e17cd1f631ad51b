#// task softmax
#// expect build_error/include
#// why The reference as a module beside the candidate.
import torch

from reference import Model



class ModelNew(Model):
    pass

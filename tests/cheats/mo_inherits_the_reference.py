#// task softmax
#// expect build_error/undefined build_error/include
#// why There is no reference to inherit from: it is in no process of a candidate.
import torch



class ModelNew(Model):
    pass

#// task softmax
#// expect runtime_error/timeout
#// why It never gets as far as a class.
import torch



import time

while True:
    time.sleep(1)


class ModelNew:
    pass

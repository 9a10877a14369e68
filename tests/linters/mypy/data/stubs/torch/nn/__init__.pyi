from torch.nn import parallel as parallel
from torch.nn.modules import *
from torch.nn.parameter import Parameter as Parameter

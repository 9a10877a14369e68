from torch.nn.modules.activation import MultiheadAttention as MultiheadAttention, ReLU as ReLU
from torch.nn.modules.container import ModuleDict as ModuleDict, ModuleList as ModuleList, Sequential as Sequential
from torch.nn.modules.linear import Linear as Linear
from torch.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
from torch.nn.modules.module import Module as Module
from torch.nn.modules.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d, MaxPool2d as MaxPool2d
from torch.nn.modules.rnn import LSTM as LSTM
from torch.nn.modules.sparse import Embedding as Embedding

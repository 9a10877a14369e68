from torch.nn.parallel.data_parallel import DataParallel as DataParallel
from torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel

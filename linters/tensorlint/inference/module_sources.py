"""Which classes and functions of other libraries are, or give, an `nn.Module`: by dotted path. Tables, no code to import.

Named are those whose instances are called through `nn.Module.__call__`. A library whose modules compute something else
when they are called (gpytorch: the posterior; its `forward` is the prior) is not among them.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Classes to derive from, beyond everything under torch.nn.
BASES = frozenset({
    "torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module",
    "lightning.LightningModule", "lightning.pytorch.LightningModule", "pytorch_lightning.LightningModule",
    "lightning.pytorch.core.LightningModule", "pytorch_lightning.core.LightningModule",
    "pytorch_lightning.core.lightning.LightningModule",
    "transformers.PreTrainedModel", "transformers.modeling_utils.PreTrainedModel",
    "diffusers.ModelMixin", "diffusers.models.ModelMixin", "diffusers.models.modeling_utils.ModelMixin",
    "mmengine.model.BaseModule", "mmengine.model.BaseModel", "mmcv.runner.BaseModule",
    "allennlp.models.Model", "allennlp.models.model.Model",
    "fairseq.models.BaseFairseqModel", "fairseq.models.FairseqModel", "fairseq.models.FairseqEncoder",
    "fairseq.models.FairseqDecoder", "fairseq.models.FairseqIncrementalDecoder",
    "fairseq.models.FairseqEncoderDecoderModel", "fairseq.models.FairseqEncoderModel",
    "fairseq.models.FairseqLanguageModel",
    "stable_baselines3.common.torch_layers.BaseFeaturesExtractor",
    "stable_baselines3.common.policies.ActorCriticPolicy", "stable_baselines3.common.policies.BasePolicy",
    "torch_geometric.nn.MessagePassing", "torch_geometric.nn.conv.MessagePassing",
    "sentence_transformers.SentenceTransformer",
})  # fmt: skip

# Calling what matches makes a module: a class, a factory, `from_pretrained`.
_MAKERS = tuple(
    re.compile(pattern)
    for pattern in (
        # transformers: BertModel, AutoModelForCausalLM, GPT2LMHeadModel, and a model file's own layers.
        r"transformers\.(?:[\w.]+\.)?(?!TF|Flax|DataCollator)[A-Z]\w*(?:Model|For[A-Z]\w*)(?:\.from_pretrained|\.from_config)?",
        r"transformers\.models\.\w+\.modeling_(?!tf_|flax_)\w+\.[A-Z]\w*(?<!Output)(?<!Config)(?<!Cache)(?<!Mixin)(?<!Kwargs)",
        r"diffusers\.(?:[\w.]+\.)?(?!Flax)(?:Autoencoder\w*|[A-Z]\w*(?:Model|VAE))(?:\.from_pretrained|\.from_config)?",
        r"torchvision\.models\.(?:[\w.]+\.)?(?!get_|list_|_)[a-z][a-z0-9_]*",
        r"torchvision\.models\.get_model",
        r"torchvision\.models\.(?:[a-z_]+\.)+[A-Z]\w*(?<!_Weights)(?<!Weights)(?<!Outputs)(?<!Output)",
        r"timm\.(?:models\.)?create_model",
        r"timm\.(?:layers|models\.[a-z]\w*)\.[A-Z]\w*(?<!Cfg)",
        r"segmentation_models_pytorch\.(?:create_model|[A-Z]\w*)",
        r"torch_geometric\.nn\.(?:conv\.)?[A-Z]\w*Conv",
        r"torchaudio\.models\.[A-Z]\w*",
        r"monai\.(?:networks\.nets|losses)\.[A-Z]\w*",
        r"sentence_transformers\.SentenceTransformer",
    )
)


@lru_cache(maxsize=4096)
def makes_module(path: str) -> bool:
    """Whether calling `path` gives an nn.Module."""
    return any(pattern.fullmatch(path) for pattern in _MAKERS)


def is_base(path: str) -> bool:
    """Whether a class derived from `path` is an nn.Module."""
    return path in BASES or (makes_module(path) and path.rpartition(".")[2][:1].isupper())

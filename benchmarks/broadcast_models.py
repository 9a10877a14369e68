"""Real models under the broadcast guard: one forward and backward each, random weights built from configs.

usage: broadcast_models.py [--as-user] [--out FILE]. Needs timm and transformers, which the project does not depend on.
By default the models' code is what it is to a user, an installed library, and nothing may be said. `--as-user` judges
every line of timm and transformers as if the user had written it: what is said then is to be read, and each entry is
either a true accident or a false alarm to be repaired. Writes JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
import warnings
from typing import Any

import torch

from pytest_tensorcheck.broadcasting import callers, observe

TIMM = [
    "resnet18",
    "resnext50_32x4d",
    "efficientnet_b0",
    "mobilenetv3_small_100",
    "densenet121",
    "regnety_002",
    "convnext_atto",
    "convnextv2_atto",
    "vit_tiny_patch16_224",
    "deit_tiny_patch16_224",
    "swin_tiny_patch4_window7_224",
    "beit_base_patch16_224",
    "cait_xxs24_224",
    "xcit_nano_12_p16_224",
    "mixer_s32_224",
    "gmlp_ti16_224",
    "poolformer_s12",
    "coat_tiny",
    "crossvit_tiny_240",
    "levit_128s",
    "pit_ti_224",
    "twins_svt_small",
    "visformer_tiny",
    "edgenext_xx_small",
    "mobilevit_xxs",
    "maxvit_nano_rw_256",
    "eva02_tiny_patch14_224",
    "fastvit_t8",
    "hrnet_w18_small",
    "res2net50_26w_4s",
    "seresnet18",
    "cspresnet50",
    "ghostnet_100",
]

TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForSequenceClassification", {**TINY, "num_labels": 1, "problem_type": "regression"}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}),
    "llama": ("LlamaForCausalLM", {**TINY, "num_key_value_heads": 2}),
    "mistral": ("MistralForCausalLM", {**TINY, "num_key_value_heads": 2}),
    "t5": ("T5ForConditionalGeneration", {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99,
                                          "decoder_start_token_id": 0}),
    "roberta": ("RobertaForMaskedLM", {**TINY, "max_position_embeddings": 64}),
    "deberta-v2": ("DebertaV2ForSequenceClassification", {**TINY, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "xlnet": ("XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": 99}),
    "falcon": ("FalconForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99,
                                     "alibi": True}),
    "bloom": ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}),
    "gpt_neox": ("GPTNeoXForCausalLM", TINY),
    "mamba": ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99, "state_size": 8}),
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as-user", action="store_true", help="judge the libraries' own lines")
    parser.add_argument("--out", help="write the result here as JSON")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    import timm
    import transformers

    if arguments.as_user:
        judged = callers.is_user_file
        marks = ("/timm/", "/transformers/")
        callers.is_user_file = lambda name: judged(name) or any(mark in name for mark in marks)
        callers.KIND.clear()
    rows = []
    for name in TIMM:
        rows.append(_run(f"timm/{name}", lambda name=name: _timm(timm, name)))
    for name in TRANSFORMERS:
        rows.append(_run(f"transformers/{name}", lambda name=name: _transformer(transformers, name)))
    done = [row for row in rows if "error" not in row]
    said = sum(len(row["observations"]) for row in done)
    summary = {
        "judged": "timm and transformers as the user's code" if arguments.as_user else "as a user has them",
        "torch": torch.__version__, "timm": timm.__version__, "transformers": transformers.__version__,
        "models": len(done), "failed_to_run": len(rows) - len(done), "observations": said, "rows": rows,
    }  # fmt: skip
    text = json.dumps(summary, indent=1)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")
    print(f"{len(done)} models ran, {len(rows) - len(done)} did not, {said} observations")
    return 0


def _run(name: str, build: Any) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        with observe() as observations:
            output = build()
            output.backward()
        row: dict[str, Any] = {
            "model": name,
            "observations": [
                {"message": each.message, "detail": each.detail, "count": each.count} for each in observations
            ],
        }
    except Exception as error:
        row = {"model": name, "error": f"{type(error).__name__}: {str(error)[:200]}"}
    row["seconds"] = round(time.perf_counter() - start, 2)
    print(name, row.get("error") or [each["detail"] for each in row["observations"]], file=sys.stderr, flush=True)
    gc.collect()
    return row


def _timm(timm: Any, name: str) -> torch.Tensor:
    model = timm.create_model(name, pretrained=False, num_classes=7)
    size = model.default_cfg["input_size"]
    result = model(torch.randn(2, *size))
    if isinstance(result, (tuple, list)):
        result = result[0]
    return torch.nn.functional.cross_entropy(result, torch.tensor([1, 3]))


def _transformer(transformers: Any, name: str) -> torch.Tensor:
    class_name, settings = TRANSFORMERS[name]
    settings = {**settings, "pad_token_id": 0}
    model = getattr(transformers, class_name)(transformers.AutoConfig.for_model(name, **settings))
    ids = torch.randint(3, 99, (4, 4))  # as many words as sentences: coincidences of sizes are wanted here
    mask = torch.ones_like(ids)
    mask[1, 2:] = 0
    labels = (
        torch.rand(4) if "num_labels" in settings else torch.tensor([0, 1, 1, 0]) if "Sequence" in class_name else ids
    )
    extra = {} if name in ("mamba",) else {"attention_mask": mask}
    return model(input_ids=ids, labels=labels, **extra).loss


if __name__ == "__main__":
    sys.exit(main())

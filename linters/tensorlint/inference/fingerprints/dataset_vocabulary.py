"""The functions, methods, keywords and usual names of `datasets`, and of the libraries it is confused with. Tables, no code."""

from __future__ import annotations

# What makes a dataset, and what each method gives back.
LOADERS = frozenset(["load_dataset", "load_from_disk", "concatenate_datasets", "interleave_datasets"])
CONSTRUCTORS = frozenset(
    [
        "from_dict",
        "from_list",
        "from_pandas",
        "from_polars",
        "from_csv",
        "from_json",
        "from_parquet",
        "from_text",
        "from_generator",
        "from_file",
        "from_buffer",
        "from_sql",
        "from_spark",
        "load_from_disk",
    ]
)
TRANSFORMS = frozenset(["map", "filter"])
SAME_KIND = frozenset(
    [
        "map",
        "filter",
        "shuffle",
        "select",
        "sort",
        "skip",
        "take",
        "rename_column",
        "rename_columns",
        "remove_columns",
        "select_columns",
        "cast",
        "cast_column",
        "class_encode_column",
        "flatten",
        "flatten_indices",
        "add_column",
        "add_item",
        "with_format",
        "with_transform",
        "shard",
        "batch",
        "unique_rows",
        "align_labels_with_mapping",
        "repeat",
        "with_split",
        "prepare_for_task",
        "copy",
        "formatted_as",
    ]
)
METHODS = SAME_KIND | {"train_test_split", "to_iterable_dataset"}
DATASET_KEYWORDS = frozenset(
    [
        "num_proc",
        "load_from_cache_file",
        "desc",
        "writer_batch_size",
        "cache_file_name",
        "new_fingerprint",
        "keep_in_memory",
        "with_rank",
        "suffix_template",
        "remove_columns",
        "cache_file_names",
    ]
)
SHARED_KEYWORDS = frozenset(
    ["batched", "batch_size", "with_indices", "input_columns", "fn_kwargs", "drop_last_batch", "features"]
)
# Methods of the datasets of other libraries (tensorflow first) that those of `datasets` do not have.
FOREIGN_METHODS = frozenset(
    [
        "prefetch",
        "interleave",
        "parallel_interleave",
        "padded_batch",
        "ragged_batch",
        "unbatch",
        "cache",
        "snapshot",
        "as_numpy_iterator",
        "from_tensor_slices",
        "from_tensors",
        "with_options",
        "assert_cardinality",
        "bucket_by_sequence_length",
        "group_by_window",
        "rejection_resample",
        "take_while",
        "flat_map",
        "map_batches",
        "iter_batches",
    ]
)
INTO_TENSORFLOW = frozenset(["to_tf_dataset", "prepare_tf_dataset"])
FOREIGN_KEYWORDS = frozenset(
    [
        "num_parallel_calls",
        "na_action",
        "chunksize",
        "timeout",
        "axis",
        "items",
        "like",
        "regex",
        "deterministic",
        "convert_dtype",
        "zero_copy_batch",
        "concurrency",
        "compute",
        "num_cpus",
        "num_gpus",
        "meta",
    ]
)
DATASET_NAME = r"^_?(ds|dset|dsets|dataset|datasets|data_?set|\w+_(ds|dset|dataset|datasets)|(train|test|eval|valid|val)_?(ds|set|data)?)$"
HF_NAMES = frozenset(
    [
        "load_dataset",
        "load_from_disk",
        "Dataset",
        "DatasetDict",
        "IterableDataset",
        "IterableDatasetDict",
        "concatenate_datasets",
        "interleave_datasets",
        "Features",
        "Value",
        "ClassLabel",
        "Sequence",
        "Audio",
        "Image",
        "disable_caching",
        "load_dataset_builder",
        "get_dataset_config_names",
        "get_dataset_split_names",
        "DatasetInfo",
        "disable_progress_bars",
        "enable_caching",
        "Split",
        "set_caching_enabled",
        "arrow_dataset",
    ]
)
COLUMN_ARGUMENTS = frozenset(["remove_columns", "input_columns", "column_names"])

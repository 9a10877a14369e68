"""What the functions of other libraries give, as far as a fingerprint is concerned. Tables, no code.

Each entry was run against `datasets` 5.0 with dill 0.4 (tests/linters/fingerprints) unless a comment says otherwise.
"""

from __future__ import annotations

# Dotted names whose result differs in every process.
DIFFERS_EVERY_RUN = frozenset(
    [
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.process_time",
        "time.strftime",
        "time.localtime",
        "time.gmtime",
        "time.ctime",
        "time.asctime",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
        "uuid.uuid1",
        "uuid.uuid4",
        "os.getpid",
        "os.getppid",
        "os.urandom",
        "tempfile.mkdtemp",
        "tempfile.mkstemp",
        "tempfile.mktemp",
        "tempfile.TemporaryDirectory",
        "tempfile.NamedTemporaryFile",
        "secrets.token_hex",
        "secrets.token_bytes",
        "secrets.token_urlsafe",
        "secrets.randbelow",
        "secrets.choice",
        "secrets.randbits",
        "threading.get_ident",
        "pandas.Timestamp.now",
        "pandas.Timestamp.today",
        "wandb.init",
        "wandb.util.generate_id",
        "shortuuid.uuid",
        "random.SystemRandom",
        "tqdm.tqdm",
        "tqdm.trange",
        "tqdm.auto.tqdm",
        "tqdm.auto.trange",
        "tqdm.notebook.tqdm",
        "tqdm.std.tqdm",
        "tqdm.rich.tqdm",
        "platform.uname",
    ]
)
# Dotted names that are values, not calls, and differ in every run.
VALUES_THAT_DIFFER = frozenset(["wandb.run", "wandb.config"])
# Word lists of other libraries that are frozensets.
FROZENSETS_OF_TEXT = frozenset(
    [
        "sklearn.feature_extraction.text.ENGLISH_STOP_WORDS",
        "gensim.parsing.preprocessing.STOPWORDS",
    ]
)
# What differs between the ranks of one distributed run.
RANKS = frozenset(
    [
        "torch.distributed.get_rank",
        "torch.cuda.current_device",
        "accelerate.PartialState().process_index",
        "jax.process_index",
    ]
)
RANK_ATTRIBUTES = frozenset(["local_rank", "process_index", "local_process_index", "global_rank", "local_process_id"])
ENVIRONMENT_OF_THE_RUN = r"(^|_)(RANK|RUN|JOB|PID|SESSION|HOSTNAME|PORT|TMPDIR|TMP|TEMP|TIMESTAMP|JOBID|RUNID)(_|$)"

# Draws from a process-wide generator: they differ unless the program seeds it.
GLOBAL_DRAWS = (
    (
        "random.",
        frozenset(
            [
                "random",
                "randint",
                "randrange",
                "uniform",
                "choice",
                "choices",
                "sample",
                "gauss",
                "getrandbits",
                "shuffle",
            ]
        ),
    ),
    (
        "numpy.random.",
        frozenset(
            [
                "rand",
                "randn",
                "random",
                "randint",
                "permutation",
                "choice",
                "normal",
                "uniform",
                "random_sample",
                "shuffle",
                "bytes",
            ]
        ),
    ),
    (
        "torch.",
        frozenset(
            ["rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "bernoulli", "multinomial"]
        ),
    ),
)
# What parts its arguments at random: whose seed it takes, unless this argument gives it one.
RANDOM_PARTS = {
    "sklearn.model_selection.train_test_split": ("numpy", "random_state"),
    "torch.utils.data.random_split": ("torch", "generator"),
}
# Generators that take their seed from the operating system unless they are given one (argument 0 or `seed`).
SEEDED_BY_ARGUMENT = frozenset(["random.Random", "numpy.random.default_rng", "numpy.random.RandomState"])
SEEDED_BY_ARGUMENT |= frozenset(
    [
        "numpy.random.PCG64",
        "numpy.random.MT19937",
        "numpy.random.Philox",
        "numpy.random.SFC64",
        "numpy.random.SeedSequence",
    ]
)
GENERATORS = SEEDED_BY_ARGUMENT | {"torch.Generator", "numpy.random.Generator"}
DRAWS = frozenset(
    [
        "random",
        "randint",
        "randrange",
        "uniform",
        "choice",
        "choices",
        "sample",
        "shuffle",
        "gauss",
        "normal",
        "integers",
        "permutation",
        "rand",
        "randn",
        "standard_normal",
        "getrandbits",
        "bytes",
    ]
)

# torch.nn layers with random initial weights; the others start from ones, zeros or nothing at all.
RANDOM_LAYERS = frozenset(
    [
        "Linear",
        "Bilinear",
        "LazyLinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "Embedding",
        "EmbeddingBag",
        "RNN",
        "LSTM",
        "GRU",
        "RNNCell",
        "LSTMCell",
        "GRUCell",
        "Transformer",
        "TransformerEncoder",
        "TransformerDecoder",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "MultiheadAttention",
    ]
)

# Objects that dill refuses, so that the library falls back on a random fingerprint, with the reason in words.
UNPICKLABLE = {
    "sqlite3.connect": "a database connection",
    "psycopg2.connect": "a database connection",
    "sqlalchemy.create_engine": "a database engine",
    "concurrent.futures.ThreadPoolExecutor": "an executor",
    "concurrent.futures.ProcessPoolExecutor": "an executor",
    "concurrent.futures.thread.ThreadPoolExecutor": "an executor",
    "concurrent.futures.process.ProcessPoolExecutor": "an executor",
    "contextvars.ContextVar": "a context variable",
    "contextvars.copy_context": "a context",
    "multiprocessing.Queue": "a queue between processes",
    "multiprocessing.SimpleQueue": "a queue between processes",
    "multiprocessing.Lock": "a lock between processes",
    "multiprocessing.RLock": "a lock between processes",
    "multiprocessing.Semaphore": "a semaphore between processes",
    "multiprocessing.Event": "an event between processes",
    "multiprocessing.Condition": "a condition between processes",
    "multiprocessing.Barrier": "a barrier between processes",
    "multiprocessing.JoinableQueue": "a queue between processes",
    "multiprocessing.BoundedSemaphore": "a semaphore between processes",
    "multiprocessing.Process": "a process",
    "multiprocessing.RawValue": "shared memory",
    "multiprocessing.Value": "shared memory",
    "multiprocessing.Array": "shared memory",
    "multiprocessing.Pool": "a pool of processes",
    "multiprocessing.pool.ThreadPool": "a pool of threads",
    "multiprocessing.Manager": "a process manager",
    "socket.socket": "a socket",
    "socket.create_connection": "a socket",
    "ssl.create_default_context": "a TLS context",
    "requests.Session": "an HTTP session",
    "requests.session": "an HTTP session",
    "httpx.Client": "an HTTP client",
    "httpx.AsyncClient": "an HTTP client",
    "openai.OpenAI": "an HTTP client",
    "openai.AsyncOpenAI": "an HTTP client",
    "asyncio.new_event_loop": "an event loop",
    "asyncio.get_event_loop": "an event loop",
    "asyncio.get_running_loop": "an event loop",
    "subprocess.Popen": "a process",
    "csv.reader": "a CSV reader",
    "csv.writer": "a CSV writer",
    "csv.DictReader": "a CSV reader",
    "csv.DictWriter": "a CSV writer",
    "memoryview": "a memoryview",
    "os.scandir": "a directory iterator",
    "os.popen": "a process",
    "threading.local": "what each thread has of its own",
    "queue.SimpleQueue": "a queue",
    "mmap.mmap": "a mapped file",
    "selectors.DefaultSelector": "a selector",
    "select.poll": "a selector",
    "select.epoll": "a selector",
    "ctypes.pointer": "a pointer",
    "hashlib.new": "a running hash",
    "hashlib.md5": "a running hash",
    "hashlib.sha1": "a running hash",
    "hashlib.sha256": "a running hash",
    "hashlib.sha512": "a running hash",
    "hashlib.blake2b": "a running hash",
    "hashlib.blake2s": "a running hash",
    "zlib.compressobj": "a running compression",
    "zlib.decompressobj": "a running decompression",
    "numpy.nditer": "an iterator of numpy's",
    "torch.jit.script": "a TorchScript module",
    "torch.jit.trace": "a TorchScript module",
    "torch.jit.load": "a TorchScript module",
}

# What describes columns holds the names that it is given, in their order.
FEATURES = frozenset(["ClassLabel", "Features", "Sequence", "List", "Value"])

# Whole-settings objects: what they were read from changes with settings the function does not use.
SETTINGS_CALLS = {
    "argparse.Namespace": "an argparse namespace",
    "types.SimpleNamespace": "a settings namespace",
    "omegaconf.OmegaConf.load": "an OmegaConf configuration",
    "omegaconf.OmegaConf.create": "an OmegaConf configuration",
    "omegaconf.OmegaConf.merge": "an OmegaConf configuration",
    "omegaconf.OmegaConf.structured": "an OmegaConf configuration",
    "omegaconf.OmegaConf.from_cli": "an OmegaConf configuration",
    "hydra.compose": "a Hydra configuration",
    "ml_collections.ConfigDict": "a configuration",
    "transformers.TrainingArguments": "the training arguments",
    "transformers.Seq2SeqTrainingArguments": "the training arguments",
    "trl.SFTConfig": "the training arguments",
    "trl.DPOConfig": "the training arguments",
    "trl.GRPOConfig": "the training arguments",
    "trl.RewardConfig": "the training arguments",
}
PARSER_METHODS = frozenset(["parse_args", "parse_known_args", "parse_args_into_dataclasses", "parse_args_and_config"])
SETTINGS_ANNOTATIONS = frozenset(
    [
        "Namespace",
        "TrainingArguments",
        "Seq2SeqTrainingArguments",
        "DictConfig",
        "OmegaConf",
        "ConfigDict",
        "SFTConfig",
        "DPOConfig",
        "GRPOConfig",
        "RewardConfig",
        "KTOConfig",
        "ScriptArguments",
        "DataArguments",
        "DataTrainingArguments",
        "ModelArguments",
    ]
)
# Names that mean settings to every reader; what they are bound to may still say otherwise.
SETTINGS_NAME = r"^(_?)(args|opts?|options|flags|hparams|hyperparams|cfg|conf|config|settings|\w+_args|\w+_cfg)$"
SETTINGS_NAME_OF_PARAMETER = r"^(args|opt|opts|hparams|cfg|script_args|training_args|data_args|model_args|cli_args)$"
SETTINGS_CLASS = r"(Args|Arguments|Config|Cfg|Options|Settings|HParams|HyperParams|CFG)$|^(Opt|Conf)$"

# Base classes that say nothing about state, and those that bring a great deal of it.
STATELESS_BASES = frozenset(
    [
        "object",
        "ABC",
        "Generic",
        "Protocol",
        "NamedTuple",
        "Enum",
        "IntEnum",
        "StrEnum",
        "Flag",
        "IntFlag",
        "TypedDict",
        "dict",
        "list",
        "set",
        "tuple",
        "str",
    ]
)
STATEFUL_BASES = {
    "Trainer": "the trainer's whole state",
    "LightningDataModule": "the trainer that Lightning attaches",
    "LightningModule": "its weights and the trainer that Lightning attaches",
    "Callback": "the callback's state",
}

# What becomes of a value that differs: these calls take the difference away.
FORGETS_ORDER = frozenset(
    [
        "sorted",
        "set",
        "frozenset",
        "len",
        "sum",
        "min",
        "max",
        "any",
        "all",
        "bool",
        "isinstance",
        "collections.Counter",
    ]
)
FORGETS_ALL = frozenset(["len", "bool", "isinstance", "issubclass", "callable", "hasattr", "type"])

# Names that say that what they hold is text.
NAMES_OF_TEXT = r"(?i)(word|vocab|char|tags?\b|name|text|lang|speaker|column|domain|topic|intent|genre|categor|string|label_list|classes)"

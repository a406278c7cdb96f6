"""Every model known by an alias, for `memory model list`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ModelFault
from pipeline.models.catalog import GB, HUB_MODELS, REGISTRY_MODELS
from pipeline.models.fetch import path


@dataclass(frozen=True, slots=True)
class Listed:
    """One alias. download_gb and memory_gb in GB (10**9 bytes)."""

    alias: str
    model: str
    download_gb: float
    memory_gb: float
    licence: str
    fetched: bool


def listing(models_dir: Path) -> list[Listed]:
    """Hub models first, then those that ship in package files."""
    hub = [
        Listed(
            m.alias, m.hub_name, m.download_gb, m.memory_gb, m.licence, _has(m.alias, models_dir)
        )
        for m in HUB_MODELS
    ]
    registry = [
        Listed(m.alias, m.upstream, m.size / GB, m.memory_gb, m.licence, _has(m.alias, models_dir))
        for m in REGISTRY_MODELS
    ]
    return hub + registry


def _has(alias: str, models_dir: Path) -> bool:
    try:
        path(alias, models_dir)
    except ModelFault:
        return False
    return True

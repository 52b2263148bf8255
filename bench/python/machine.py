"""What a table was measured on."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def first_line(*command: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def describe(root: Path) -> str:
    commit = first_line("git", "rev-parse", "--short=12", "HEAD", cwd=root)
    dirty = first_line("git", "status", "--porcelain", "--untracked-files=no", cwd=root)
    if dirty != "unknown":
        commit += " with local changes"
    return "\n".join(
        (
            f"CPU: {cpu_name()}",
            f"compiler: {first_line('c++', '--version')}",
            f"Python {platform.python_version()}, NumPy {version('numpy')}, "
            f"boxdecode {version('boxdecode')}",
            f"commit: {commit}",
        )
    )

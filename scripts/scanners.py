"""Bandit and detect-secrets over unpacked code, stricter than the plugin hub, which blocks on what they find.

Every rule counts, whatever its severity, and no comment in the code switches one off. Scope: the two tools.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def bandit(folder: Path) -> list[str]:
    """Return Bandit's findings in a folder's Python files, and the files that it cannot read."""
    report = _run(folder, "bandit", "--recursive", ".", "--format", "json", "--quiet", "--ignore-nosec")
    unread = [f"{error['filename']}: {error['reason']}" for error in report["errors"]]
    found = [
        f"{issue['filename']}:{issue['line_number']}: {issue['test_id']} {issue['issue_text']}"
        for issue in report["results"]
    ]
    return unread + found


def secrets(folder: Path) -> list[str]:
    """Return the secrets that detect-secrets finds in a folder's files; none is verified online."""
    allowed_by_comment = "detect_secrets.filters.allowlist.is_line_allowlisted"
    report = _run(
        folder, "detect_secrets", "scan", "--all-files", "--no-verify", "--disable-filter", allowed_by_comment
    )
    return [
        f"{name}:{secret['line_number']}: {secret['type']}"
        for name, secrets in report["results"].items()
        for secret in secrets
    ]


def _run(folder: Path, module: str, *arguments: str) -> dict[str, Any]:
    """Run a tool of this Python in a folder, and return the JSON that it prints.

    Raises
    ------
    RuntimeError
        The tool itself failed, apart from findings.
    """
    done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=folder, capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(f"{module} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)

import pytest

from scripts import scanners


# `make package` scans each zip that it makes, too.
@pytest.mark.slow
def test_bandit_finds_nothing_in_the_zip(installed):
    assert scanners.bandit(installed) == []


@pytest.mark.slow
def test_detect_secrets_finds_nothing_in_the_zip(installed):
    assert scanners.secrets(installed) == []


def test_what_bandit_warns_of_is_found_whatever_a_comment_says(tmp_path):
    (tmp_path / "code.py").write_text("import pickle  # nosec\nassert pickle\ntry:\n    1\nexcept:\n    pass\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    found = "\n".join(scanners.bandit(tmp_path))
    assert "broken.py" in found
    for rule, line in (("B403", 1), ("B101", 2), ("B110", 5)):
        assert f"code.py:{line}: {rule}" in found


def test_a_secret_is_found_whatever_a_comment_says(tmp_path):
    key = "AKIA" + "Q7ZT3WXN5PLB2RKD"
    (tmp_path / "notes.txt").write_text(f"key = '{key}'  # pragma: allowlist secret\n")
    assert scanners.secrets(tmp_path) == ["notes.txt:1: AWS Access Key"]

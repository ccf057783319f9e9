"""What the ranks of a group do in the tests of its collectives."""

import torch


def talk(group):
    """Return what each collective gives this rank."""
    own = torch.arange(3.0) + 10 * group.rank
    tensors = {"weights": own.view(3, 1), "count": torch.tensor(group.rank, dtype=torch.int64)}
    large = torch.tensor([1e8, 1.0, -1e8][group.rank % 3], dtype=torch.float32)
    return {
        "gathered": group.gather(own),
        "sum": group.sum(own),
        "rounded": group.sum(large),
        "broadcast": group.broadcast(own.clone()),
        "document": group.broadcast_document({"rank": group.rank, "text": "Straße"}),
        "documents": group.gather_documents("x" * group.rank),
        "tensors": group.broadcast_tensors(tensors if group.leads else {}),
        "sent_bytes": group.sent_bytes,
    }


def split_up(group):
    """Return what the ranks of two halves of a group tell each other, and what rank 0 of each half collects."""
    half = group.divided([[0, 1], [2, 3]])
    own = {f"of {group.rank}": torch.full((2, group.rank), 1.5), f"number {group.rank}": torch.tensor(group.rank)}
    return (
        half.rank,
        half.size,
        half.gather(torch.tensor([group.rank])),
        half.collect_tensors(own),
        group.gather(own[f"number {group.rank}"]),
    )

"""segment_reduce believes its offsets and reads where they point, although unsafe=False asks it to check them."""

import torch

SOURCE = "pytorch/pytorch#141481"
KIND = "crash"
AXIS = "values,shape"
MODES = ("eager",)
EXPECT = {
    "in_range": "passed",
    "two_segments": "passed",
    "far_offset": "crash",
    "zero_size_offsets": "crash",
}


def candidate(data, offsets, axis=0):
    return torch.segment_reduce(data, "max", offsets=offsets, axis=axis, initial=-1.0, unsafe=False)


def reference(data, offsets, axis=0):
    if axis or offsets.ndim != 1 or int(offsets[-1]) > len(data):
        raise ValueError("one offset per boundary is needed, none beyond the data")
    rows = torch.full((offsets.numel() - 1, *data.shape[1:]), -1.0, dtype=data.dtype, device=data.device)
    bounds = offsets.tolist()
    for row, (start, stop) in enumerate(zip(bounds, bounds[1:])):
        rows[row] = torch.maximum(rows[row], data[start:stop].max(dim=0).values)
    return rows


def cases(device):
    data = torch.linspace(0, 5, 15, device=device).reshape(5, 3)
    at = {"in_range": [0, 5], "two_segments": [0, 2, 5], "far_offset": [0, 3_000_000_000]}
    for name, offsets in at.items():
        yield {"id": name, "args": (data, torch.tensor(offsets, device=device))}
    ones = torch.ones(6, 9, 1, 1, 8, dtype=torch.float64, device=device)
    nothing = torch.zeros(5, 0, 0, 9, 2, dtype=torch.int64, device=device)
    yield {"id": "zero_size_offsets", "args": (ones, nothing), "kwargs": {"axis": 4}}

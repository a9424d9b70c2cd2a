"""A wrong answer that depends on the mode: moving all rows down by one, in place.

The clone() keeps the rows to be read apart from the rows to be written. torch.compile takes it for redundant and leaves
it out: eager the rows move, compiled they are overwritten before they are read.
"""

import torch


def candidate(rows):
    rows[1:] = rows[:-1].clone()
    return rows


def reference(rows):
    return torch.cat((rows[:1], rows[:-1]))


def cases(device):
    yield {"id": "two-numbers", "args": (torch.arange(2.0, device=device),)}
    yield {"id": "8-rows", "args": (torch.arange(256.0, device=device).view(8, 32),)}

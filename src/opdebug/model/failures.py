"""Which error text means what: refused, broken, out of memory, or an installation that cannot judge anything.

One table, first match wins, so that a refusal is never counted as a crash and a broken installation never as either.
`classify(types, message)` reads it; `device_codes(text)` picks the vendor's codes out of a text; `signature(...)` is
what makes two failures the same failure. `Class.outcome` is a status word, or `ENVIRONMENT`: no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opdebug.model.words import CRASH, UNSUPPORTED

ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Class:
    """A row of the table: `pattern` is searched in "Type: message"; `kind` is what `failure.kind` will say."""

    outcome: str
    kind: str
    pattern: re.Pattern[str]


def _row(outcome: str, kind: str, pattern: str) -> Class:
    return Class(outcome, kind, re.compile(pattern, re.DOTALL))


# A code such as 161002 is only a code where something calls it one: shapes hold six-digit numbers too.
_CODE = r"(?:error code(?: is)?|error|ret(?:val)?|code|status)\s*[:=]?\s*"

TABLE: tuple[Class, ...] = (
    _row(ENVIRONMENT, "environment", r"cannot open shared object file|undefined symbol:|libopapi\.so not found"
         r"|no kernel image is available|driver version is insufficient"),
    _row(ENVIRONMENT, "device_lost", _CODE + r"(?:100001|107001|107002|200002|507008|507010|507033|507053|507054|507899"
         r"|507901)\b"),
    _row(CRASH, "out_of_memory", r"(?:NPU|CUDA|HIP|XPU) out of memory|OutOfMemoryError|DefaultCPUAllocator: (?:can't|not "
         r"enough)|can't allocate memory|Failed to allocate memory|\bEL0004\b|^MemoryError"),
    _row(CRASH, "out_of_memory", _CODE + r"(?:200000|207001|207004|207018|245000)\b"),
    _row(UNSUPPORTED, "invalid_input", r"Storage size calculation overflowed|setStorage: .* out of bounds"),
    _row(UNSUPPORTED, "dtype", r"not implemented for (?:'\w+'|DT_\w+)|not implemented for type"),
    _row(UNSUPPORTED, "dtype", r"[Uu]nsupported d?type|[Ll]ow precision dtypes not supported|dtype support list"
         r"|does not support (?:dtype|bfloat16|half|bool|complex)"),
    _row(UNSUPPORTED, "dtype", r"ranked tensor of .* (?:ub overflow|MLIRCompilationError)"),
    _row(UNSUPPORTED, "dtype", _CODE + r"100026\b"),
    _row(UNSUPPORTED, "layout", _CODE + r"100027\b"),
    _row(UNSUPPORTED, "invalid_input", _CODE + r"16100[12]\b|AclNN_Parameter_Error\(EZ1001\)|\bEZ1\d{3}\b"),
    _row(UNSUPPORTED, "option", r"(?:only supports?|not supported?|must be (?:same )?equal|unsupported .{0,40}shape"
         r"|supported .{0,40}can be).*(?:\b(?:561002|561103|E89999|E69999|EZ9999)\b|[Tt]iling [Ff]ailed)"),
    _row(UNSUPPORTED, "option", r"(?:\b(?:561002|561103|E89999|E69999|EZ9999)\b|[Tt]iling [Ff]ailed)"
         r".*(?:only supports?|not supported?|must be (?:same )?equal|unsupported .{0,40}shape|supported .{0,40}can be)"),
    _row(UNSUPPORTED, "operator", r"\bEZ3002\b|not found in this op store|\bE90003\b.*is not supported"),
    _row(UNSUPPORTED, "operator", _CODE + r"(?:561003|100024|100029|507027|200001|200006|207000)\b"),
    _row(UNSUPPORTED, "operator", r"\bERR0[01]007\b"),
    _row(CRASH, "device_error", r"device-side assert triggered|illegal memory access|misaligned address"
         r"|Invalid __global__ (?:read|write)|(?:aicore|aicpu|vector core) exception"),
    _row(CRASH, "device_error", _CODE + r"(?:5070\d\d|5079\d\d|56100[012]|561103|361001)\b"),
    _row(CRASH, "device_error", r"\bEZ9999\b|\b[EW]\w9\d{3}: Inner Error"),
    _row(UNSUPPORTED, "alias", r"unsupported operation: (?:some elements of the input tensor and the written-to tensor"
         r"|more than one element of the written-to tensor)"),
    _row(UNSUPPORTED, "layout", r"view size is not compatible with input tensor's size and stride"),
    _row(UNSUPPORTED, "graph_break", r"^(?:Unsupported|UserError|FailOnRecompileLimitHit|RecompileLimitExceeded|"
         r"UncapturedHigherOrderOpError|ObservedException)\b"),
    # The compiler's own failures are ahead of the plain NotImplementedError row: they wrap one as often as not.
    _row(CRASH, "exception", r"^(?:InductorError|BackendCompilerFailed|CppCompileError|LoweringException)\b"
         r"|ub overflow, requires|MLIRCompilationError|out of resource: shared memory|Failed to run BiShengH?IR"),
    _row(UNSUPPORTED, "operator", r"Could not run '[\w:.]+' with arguments from the '\w+' backend|^NotImplementedError\b"),
)

_UNCLASSIFIED = _row(CRASH, "exception", r"")

_DEVICE_CODES = re.compile(
    r"\b(?:ERR\d{5}|[EWI][0-9A-Z]\d{4})\b|" + _CODE + r"(?P<number>[1235]\d{5})\b"
)


def classify(type_name: str, message: str) -> Class:
    """The class of an exception whose type is called `type_name` (unqualified) and says `message`."""
    text = f"{type_name}: {message}"
    return next((row for row in TABLE if row.pattern.search(text)), _UNCLASSIFIED)


def device_codes(text: str) -> list[str]:
    """The Ascend error codes that a text holds (ERR…, EZ9999-like, ACL and ACLNN numbers), in order, once each."""
    return list(dict.fromkeys(match.group("number") or match.group(0) for match in _DEVICE_CODES.finditer(text)))


_VOLATILE = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[-T ]\d\d:\d\d:\d\d\S*"), "<time>"),
    (re.compile(r"\b(?:PID|pid|Device|RankID)\s*:\s*\d+"), "<id>"),
    (re.compile(r"(?:/[\w.+-]+)+/"), ""),
    (re.compile(r"\d+"), "N"),
)


def signature(kind: str, what: str, message: str = "", frames: Sequence[str] = ()) -> str:
    """What two failures share when they are the same failure.

    `what` is the exception type, the signal name or the output path; addresses, ids, times, paths and numbers are
    taken out of the first line of `message`; `frames` are function names, innermost first.
    """
    line = message.strip().splitlines()[0][:200] if message.strip() else ""
    for pattern, plain in _VOLATILE:
        line = pattern.sub(plain, line)
    return " | ".join(part for part in (kind, what, line, " < ".join(frames[:3])) if part)

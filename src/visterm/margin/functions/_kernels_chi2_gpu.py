"""The additive chi2 kernel on a GPU: no product of matrices, so a kernel of its own, in Triton, which torch brings."""

from functools import lru_cache
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # torch without a GPU comes without it
    triton = None

#: Rows and columns of the result that one program computes.
_ROWS, _COLUMNS = 64, 64

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _add(A, B, out, n, m, n_dims: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr):  # type: ignore[no-untyped-def]
        i = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        j = tl.program_id(1) * columns + tl.arange(0, columns)
        total = tl.zeros((rows, columns), dtype=tl.float32)
        for _ in range(n_dims):
            a = tl.load(A + i, mask=i < n, other=0.0)[:, None]
            b = tl.load(B + j, mask=j < m, other=0.0)[None, :]
            total += a * b / (tl.abs(a) + tl.abs(b) + 1e-30)
            A += n
            B += m
        tl.store(out + i[:, None] * m + j[None, :], 2.0 * total, mask=(i < n)[:, None] & (j < m)[None, :])


def can_compare(A: Any) -> bool:
    """Whether rows on the device of ``A`` can be compared here."""
    return triton is not None and bool(A.is_cuda) and _compiles(str(A.device))


@lru_cache
def _compiles(device: str) -> bool:
    """Triton needs a C compiler, which a machine may lack."""
    import torch

    one = torch.ones((1, 1), device=device)
    try:
        return bool((chi2(one, one) == 1).all())
    except Exception:  # of many kinds: without it, the kernel is only slower
        return False


def chi2(A: Any, B: Any) -> Any:
    """(n, m): ``sum_d sign(a_d b_d) 2 |a_d b_d| / (|a_d| + |b_d|)`` between the rows of A and of B."""
    (n, n_dims), m = A.shape, len(B)
    out = A.new_empty((n, m))
    grid = (triton.cdiv(n, _ROWS), triton.cdiv(m, _COLUMNS))
    # By columns: neighbours in a program read neighbours in memory.
    _add[grid](A.T.contiguous(), B.T.contiguous(), out, n, m, n_dims=n_dims, rows=_ROWS, columns=_COLUMNS)
    return out

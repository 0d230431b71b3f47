"""What is fast, side by side with a bare hand-written loop that does the same work.

`python -m benchmarks` (or `make bench`) runs it; it reads ``/proc`` and so needs Linux.
"""

"""What holds for all tests: an interrupt reaches the programs they start, even when they run in the background."""

from __future__ import annotations

import signal

# A shell starts what it puts in the background with interrupts ignored, and programs inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

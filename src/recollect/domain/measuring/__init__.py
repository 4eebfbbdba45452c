"""Measuring: from what was written down to figures that say how well memory serves."""

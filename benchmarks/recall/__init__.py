"""How well searches find what answers a question: two public benchmarks, through the public API."""

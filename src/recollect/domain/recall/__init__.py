"""Recall: what an agent is given, with the evidence for each memory and the reasons for its place."""

"""What the use-cases need from outside, as promises with numbered clauses."""

"""What `learn` gives beside what it competes with: the figures of docs/results-learn.md."""

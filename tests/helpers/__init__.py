"""What several test files use: worlds to run protocols in, and processes to kill."""

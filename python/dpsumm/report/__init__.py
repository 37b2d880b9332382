"""Parts of a self-contained HTML page."""

"""What is kept for good: rebuilt from the archive, forgotten, backed up, put back. No model."""

"""nightly-memory: fold the day's conversations with AI assistants into a personal Markdown wiki."""

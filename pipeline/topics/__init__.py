"""What the user says of topics in Meta/Buckets.md, and how the store comes to say the same."""

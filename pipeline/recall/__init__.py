"""What people and agents find in the wiki: nothing here writes to what it reads."""

"""The parts of the ingest stage: which files have news, what is left out, what is read, where it
goes."""

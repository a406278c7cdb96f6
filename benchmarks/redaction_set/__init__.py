"""The labelled set of the redaction benchmark, generated: no value in it was ever real."""

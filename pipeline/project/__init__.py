"""The per-project store of observations: `anvil-memory`, `memory project` and `memory-hook`.

All of it stays on the standard library, and on the few modules of this program that do: a hook that
loads more than that is felt in every step of a session. Records are named tuples, since the module
of data classes alone takes longer to load than a hook takes to write.
"""

"""The machine: one transition table, its guards, and the runner that walks it."""

"""One vendor, one file: each adapter serves a port of `preheat.ports` and lets no vendor error through."""

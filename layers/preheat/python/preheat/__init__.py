"""Preheat: the context of an AI answer, in place before the message arrives."""

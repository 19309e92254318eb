"""Zhiku within other programs' frameworks, and theirs within Zhiku."""

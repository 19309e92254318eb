"""Questions about tables, computed and not guessed: start reading at `answering`."""

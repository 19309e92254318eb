"""Text to vectors: `registry.get_embedder()` gives the process's embedder (see `protocol.Embedder`)."""

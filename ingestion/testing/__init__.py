"""Stand-ins and ready rows for tests of anything that needs documents or an embedder."""

from ingestion.testing.embedding import HashingEmbedder, bundled_model_dir, use_embedder, use_hashing_embedder

__all__ = ["HashingEmbedder", "bundled_model_dir", "use_embedder", "use_hashing_embedder"]

"""External sources as administrators keep them: what they are, who may use them, and how they fare."""

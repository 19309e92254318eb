"""Reranking: the first candidates of a ranking are judged again, by a model that reads question and passage together."""

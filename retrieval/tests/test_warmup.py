from retrieval.warmup import warm_up


def test_the_embedder_is_used_once(embedder):
    warm_up()
    assert len(embedder.queries) == 1


def test_a_failing_embedder_is_logged_not_raised(embedder, caplog):
    embedder.is_broken = True
    warm_up()
    assert "warming up failed" in caplog.text

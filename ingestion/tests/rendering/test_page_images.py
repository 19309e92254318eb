from ingestion.rendering import page_images


def test_images_go_with_the_last_row_that_names_their_file(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    for digest in ("aa11", "bb22"):
        folder = tmp_path / "pages" / digest[:2] / digest
        folder.mkdir(parents=True)
        (folder / "1.webp").write_bytes(b"drawn")
    assert page_images.collect_garbage({"aa11"}) == 1
    assert [path.parent.name for path in tmp_path.glob("pages/*/*/*")] == ["aa11"]

import io

import pytest
from PIL import Image, UnidentifiedImageError

from ingestion.rendering import child, page_images


def test_images_go_with_the_last_row_that_names_their_file(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    for digest in ("aa11", "bb22"):
        folder = tmp_path / "pages" / digest[:2] / digest
        folder.mkdir(parents=True)
        (folder / "1.webp").write_bytes(b"drawn")
    assert page_images.collect_garbage({"aa11"}) == 1
    assert [path.parent.name for path in tmp_path.glob("pages/*/*/*")] == ["aa11"]


def test_only_the_formats_of_pictures_are_tried_whatever_a_file_is_called(tmp_path):
    """Reading an EPS file would start another program."""
    for kind in ("EPS", "PPM"):
        out = io.BytesIO()
        Image.new("RGB", (20, 20), "navy").save(out, format=kind)
        path = tmp_path / "plan.png"
        path.write_bytes(out.getvalue())
        with pytest.raises(UnidentifiedImageError):
            child._picture(str(path), 1, 100)

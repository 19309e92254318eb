"""Write the bad files into a folder, and print what each may end in: `python -m ingestion.testing.bad_input FOLDER`."""

import sys
from pathlib import Path

from ingestion.testing.bad_input.catalogue import BAD_FILES, acceptable


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for bad in BAD_FILES:
        data = bad.make()
        (folder / bad.name).write_bytes(data)
        print(f"{bad.name}\t{len(data)}\t{' '.join(sorted(acceptable(bad)))}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))

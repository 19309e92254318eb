"""From atoms to groups under one heading path: leaves of the heading tree, small neighbours merged as whole subtrees."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.chunking.atoms import Atom

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Neighbouring leaves with the path they share. `shared_before` is how deep the leaf before them shares their path."""

    runs: tuple[list[Atom], ...]
    headings: tuple[Atom, ...]
    path: Path
    tokens: int
    shared_before: int

    @property
    def top_depth(self) -> int:
        """Depth of the highest heading that it begins with, or of its path."""
        return min(len(self.runs[0][0].path), len(self.path))

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(atom for run in self.runs for atom in run)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSizes:
    """Merge up to `target` while one side is under `enough`, and up to `limit` if one is `tiny`."""

    tiny: int
    enough: int
    target: int
    limit: int

    def allow(self, smaller: int, total: int) -> bool:
        return (smaller < self.enough and total <= self.target) or (
            smaller < self.tiny and total <= self.limit
        )


def shared(first: Path, second: Path) -> Path:
    """The longest path that both begin with."""
    depth = 0
    while depth < min(len(first), len(second)) and first[depth] == second[depth]:
        depth += 1
    return first[:depth]


def leaves_of(atoms: Sequence[Atom]) -> list[Group]:
    """One group for each run under one heading. Headings with nothing of their own go to the first leaf below them."""
    leaves: list[list[Atom]] = []
    for run in _runs(atoms):
        above = leaves[-1][-1].path if leaves and _only_headings(leaves[-1]) else None
        if above is not None and run[-1].path[: len(above)] == above and run[-1].path != above:
            leaves[-1] += run
        else:
            leaves.append(run)
    return _groups(leaves)


def _runs(atoms: Sequence[Atom]) -> list[list[Atom]]:
    """A new run begins at each heading and with each change of path."""
    runs: list[list[Atom]] = []
    previous: Atom | None = None
    for atom in atoms:
        is_heading_start = atom.own_path is not None and (
            previous is None or atom.element != previous.element
        )
        if previous is None or is_heading_start or atom.path != previous.path:
            runs.append([])
        runs[-1].append(atom)
        previous = atom
    return runs


def _only_headings(atoms: Sequence[Atom]) -> bool:
    return atoms[-1].own_path is not None


def _groups(runs: Sequence[list[Atom]]) -> list[Group]:
    groups: list[Group] = []
    before: Path = ()
    for run in runs:
        path = run[-1].path
        group = Group(
            runs=(run,),
            headings=tuple(atom for atom in run if atom.own_path is not None),
            path=path,
            tokens=sum(atom.tokens for atom in run if not atom.is_told_by(path)),
            shared_before=len(shared(before, path)),
        )
        groups.append(group)
        before = path
    return groups


def merge_small(groups: Sequence[Group], sizes: MergeSizes) -> list[Group]:
    """Small neighbours under one parent together, from the leaves up, as long as their sizes allow."""
    current = list(groups)
    while True:
        merged: list[Group] = []
        for group in current:
            joined = _joined(merged[-1], group, sizes) if merged else None
            if joined is None:
                merged.append(group)
            else:
                merged[-1] = joined
        if len(merged) == len(current):
            return merged
        current = merged


def _joined(first: Group, second: Group, sizes: MergeSizes) -> Group | None:
    """Both in one, or None if their sizes forbid it or one of them is only a part of a subtree.

    Headings that the shorter path no longer tells have to be said in the body, and count.
    """
    smaller, total = min(first.tokens, second.tokens), first.tokens + second.tokens
    path = shared(first.path, second.path)
    is_child = len(path) == max(0, second.top_depth - 1)
    are_siblings = path == first.path or (is_child and first.shared_before <= len(path))
    if not are_siblings or not sizes.allow(smaller, total):
        return None
    total += _untold(first, path) + _untold(second, path)
    if not sizes.allow(smaller, total):
        return None
    return Group(
        runs=first.runs + second.runs,
        headings=first.headings + second.headings,
        path=path,
        tokens=total,
        shared_before=min(first.shared_before, len(path)),
    )


def _untold(group: Group, path: Path) -> int:
    """Tokens of headings that the group's own path tells and a shorter one does not."""
    if path == group.path:
        return 0
    return sum(
        atom.tokens for atom in group.headings if atom.is_told_by(group.path) and not atom.is_told_by(path)
    )


def as_one(groups: Sequence[Group]) -> Group:
    """All in one group, whatever its size, under the path that they share."""
    path = groups[0].path
    for group in groups[1:]:
        path = shared(path, group.path)
    return Group(
        runs=tuple(run for group in groups for run in group.runs),
        headings=tuple(heading for group in groups for heading in group.headings),
        path=path,
        tokens=sum(group.tokens + _untold(group, path) for group in groups),
        shared_before=min(groups[0].shared_before, len(path)),
    )

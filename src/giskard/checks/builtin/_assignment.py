"""One to one: the best assignment there is, never a greedy one.

The usual library for it (SciPy) is a hundred times as large as this package and would be imported for one function, so
the algorithm stands here: successive shortest augmenting paths, with the potentials of the Hungarian method (Jonker and
Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems", 1987).
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["assignment"]


def assignment(costs: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row, all of them different, such that the sum of the costs is the least.

    Parameters
    ----------
    costs
        A row of whole numbers for each row; there are at least as many columns as rows.

    Examples
    --------
    >>> assignment([[1, 2], [1, 9]])
    [1, 0]
    """
    solver = _Assignment(costs)
    for row, column in enumerate(solver.column_of):
        if column < 0:
            solver.augment(row)
    return solver.column_of


class _Assignment:
    """Rows and columns, as far as they have one another, and their potentials.

    The reduced cost of a pair is its cost less the potentials of its row and its column: never below zero, and zero for
    the pairs that have one another.
    """

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self.costs = costs
        self.of_row = [min(row) for row in costs]
        self.of_column = [0] * (len(costs[0]) if costs else 0)
        self.row_of = [-1] * len(self.of_column)
        self.column_of = [-1] * len(costs)
        for row, line in enumerate(costs):  # what is to be had without a detour
            low = self.of_row[row]
            column = next((j for j, cost in enumerate(line) if cost == low and self.row_of[j] < 0), -1)
            if column >= 0:
                self.row_of[column], self.column_of[row] = row, column

    def augment(self, start: int) -> None:
        """Give a row a column: on the cheapest way, along which rows before it take another one."""
        line, own, of_column, row_of = self.costs[start], self.of_row[start], self.of_column, self.row_of
        distance = [cost - own - potential for cost, potential in zip(line, of_column, strict=True)]
        before = [start] * len(line)  # the row from which a column is reached
        still_open = list(range(len(line)))
        done: list[int] = []
        end, reach = -1, 0
        while end < 0:
            reach = min([distance[column] for column in still_open])
            nearest = [column for column in still_open if distance[column] == reach]
            end = next((column for column in nearest if row_of[column] < 0), -1)
            while nearest and end < 0:
                column = nearest.pop()
                still_open.remove(column)
                done.append(column)
                row = row_of[column]
                line, base = self.costs[row], reach - self.of_row[row]
                for other in still_open:
                    further = base + line[other] - of_column[other]
                    if further < distance[other]:
                        distance[other], before[other] = further, row
                        if further == reach:
                            nearest.append(other)
                            if row_of[other] < 0:
                                end = other
                                break
        self.of_row[start] += reach
        for column in done:
            shift = reach - distance[column]
            of_column[column] -= shift
            self.of_row[row_of[column]] += shift
        self._take(before, end, start)

    def _take(self, before: Sequence[int], end: int, start: int) -> None:
        """Give the free column `end` to the row that it is reached from, the one that this row had to the next."""
        row = -1
        while row != start:
            row = before[end]
            self.row_of[end] = row
            self.column_of[row], end = end, self.column_of[row]

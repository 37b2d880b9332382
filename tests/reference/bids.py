"""An owner's bids in Python integers, one point after the other."""


class Bidder:
    """`kernels.Bidder` without caches: scores are computed when they are asked for."""

    def __init__(self, features):
        self.features = [[int(q) for q in row] for row in features]
        self.ids = list(range(len(self.features)))
        self.gone = set()
        self.target = self.summary = None

    def append(self, features, ids):
        self.features += [[int(q) for q in row] for row in features]
        self.ids += [int(i) for i in ids]

    def best(self, target_factor, summary_factor, count):
        """Return rows and scores, best first; equal scores by id, the smaller first."""
        places = []
        for row, features in enumerate(self.features):
            if row in self.gone:
                continue
            score = target_factor * _dot(features, self.target)
            score -= summary_factor * _dot(features, self.summary)
            places.append((-score, self.ids[row], row))
        places.sort()
        return [row for _, _, row in places[:count]], [-s for s, _, _ in places[:count]]


def _dot(features, direction):
    if direction is None:
        return 0
    return sum(q * int(g) for q, g in zip(features, direction, strict=True))

"""Whole runs in one thread, with faults drawn from one seed: network, disk, clock, deaths.

`plan` says what goes wrong, `world` lets it go wrong, `oracles` says what must hold all the same,
`systems` are the runs, `planted` the bugs by which the search shows that it would find one.
``python -m simulator`` (`make simulate`) goes on with fresh seeds.
"""

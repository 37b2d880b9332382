"""Ports of a deployment: several may start at one time on this machine."""

import socket

# Below those that systems give to connections that are opened: nobody else gets one by chance.
FIRST, LAST, COUNT = 20_000, 32_000, 10


class Ports:
    """Ports of 127.0.0.1 that follow one another, until `close`.

    The one before them is bound meanwhile, which tells others that they are taken; the system gives
    it back when this process ends, however it does.
    """

    def __init__(self):
        for mark in range(FIRST, LAST, COUNT):
            self._mark = socket.socket()
            try:
                self._mark.bind(("127.0.0.1", mark))
            except OSError:
                self._mark.close()
                continue
            self.first, self.last = mark + 1, mark + COUNT - 1
            if all(map(is_free, range(self.first, self.last + 1))):
                return
            self._mark.close()
        raise OSError(f"no {COUNT} ports from {FIRST} to {LAST} are free")

    def close(self):
        self._mark.close()


def is_free(port):
    with socket.socket() as probe:
        # As a server binds it: what a connection that has ended left there does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

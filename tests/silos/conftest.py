"""What test files of this folder share."""

import signal

import pytest
from deployment import NAMES, Deployment, make_data

# Who ends the tests ends their deployments, which are in sessions of their own.
signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """One for each file, whose tests use it in their order: see `make silos`."""
    folder = tmp_path_factory.mktemp("deployment")
    make_data(folder / "data", NAMES)
    with Deployment(folder, NAMES) as started:
        yield started

"""Flower's simulation: a SuperLink that makes its own nodes, all of them on this machine."""

import shutil

from deployment import SCHEMA, Deployment

from dpsumm.flower.project import write_project


class Simulation(Deployment):
    """As a deployment, without SuperNodes."""

    def __init__(self, folder, names, **run):
        super().__init__(folder, names, **run)
        del self.run_config["purpose"]  # no key signs it
        listed = ", ".join(f'"{name}"' for name in names)
        owners = folder / "owners"
        owners.mkdir()
        for name in names:
            (folder / "data" / f"{name}.csv").rename(owners / f"{name}.csv")
        SCHEMA.save(owners / "schema.toml")
        self.environment["DPSUMM_SIMULATION"] = str(owners)
        (folder / "curator" / "curator.toml").write_text(
            f'target = "{folder / "data" / "target.csv"}"\nout = "summary.parquet"\n'
            'schema = "schema.toml"\n'
            f"owners = [{listed}]\nclaimed-names = true\n"
        )
        script = folder / "curator" / "superlink.sh"
        text = script.read_text()
        script.write_text(text.replace(" --enable-supernode-auth", " --simulation"))
        # The project as it is.
        shutil.rmtree(self.project)
        write_project(self.project)

    def register(self, name):
        """Simulated nodes have no keys."""

    def start_node(self, name):
        """Simulated nodes are no processes."""


def simulate(folder, names, **run):
    """Run to the end; the summary is in the curator's directory."""
    with Simulation(folder, names, **run) as simulation:
        simulation.submit = ["--federation-config", f"num-supernodes={len(names)}"]
        ident = simulation.begin()
        status = simulation.finish(ident)
        assert status == "finished:completed", simulation.log("superlink")[-4000:]
        return simulation.log("superlink")

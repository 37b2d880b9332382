"""The commands under ``dpsumm node``, for an owner. Needs the extras ``cli`` and ``flower``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsumm.basics.atomic import write_text
from dpsumm.basics.checks import counted
from dpsumm.cli import console
from dpsumm.cli.options import described
from dpsumm.data.words import parse_files
from dpsumm.errors import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.privacy.receipt import Receipt, Sealed

app = typer.Typer(no_args_is_help=True)

Policy = Annotated[Path, typer.Argument()]


@app.command()
@described
def create(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    consumer: list[str],
    purpose: list[str],
    records: int,
    records_per_day: int | None = None,
    task: str = "summarize",
) -> None:
    """Write a first policy, the key that seals the log, and the log. Do this once.

    Parameters
    ----------
    folder : FOLDER
        Folder for these files. Name the policy in the node's configuration.
    consumer : NAME=FILE.pub
        Your name for a consumer that may ask, and the file of its public key (ssh-keygen -t
        ed25519). Repeat it for each.
    purpose : TEXT
        A purpose that a run may state, word for word. Repeat it for each.
    records : N
        Largest number of records that may ever leave, to all consumers, in all runs.
    records_per_day : N
        Largest number of records that may leave to one consumer within 24 hours. By default it is
        that of --records.
    task
        The product, which is summarize, learn or synthesize.
    """
    from dpsumm.flower.policy_file import make_policy
    from dpsumm.flower.tasks import NAMES

    if task not in NAMES:
        raise InvalidParameterError(f"--task must be {' or '.join(NAMES)}, got {task!r}")
    keys = {}
    for name, file in parse_files("--consumer", consumer).items():
        try:
            keys[name] = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidParameterError(f"--consumer: {file} is no file of a public key") from None
    made = make_policy(
        folder, task, consumers=keys, purposes=purpose, records=records, per_day=records_per_day
    )
    console.show_files([made, folder / "receipts.db", folder / "receipts.key"])
    console.echo(f'Now name it in the node\'s configuration: policy = "{made.resolve()}"')


@app.command()
@described
def show(policy: Policy) -> None:
    """Show the rules, the records that have left, and whether the installed dpsumm fits.

    Parameters
    ----------
    policy : POLICY
        The file that the node's configuration names.
    """
    from dpsumm import __version__
    from dpsumm.flower.gate import differs, open_receipts, read_policy
    from dpsumm.privacy.package import package_digest

    rules = read_policy(policy)
    with open_receipts(rules) as receipts:
        lines, wrong = [line for line, _ in receipts.lines()], receipts.fault()
    console.show_facts(
        [
            ("protocols", ", ".join(sorted(rules.protocols))),
            ("records, ever", _of(sum(line.counted for line in lines), rules.records)),
            ("records, per day", "as many" if rules.per_day is None else f"{rules.per_day:,}"),
            ("log", f"{rules.receipts}, {counted(len(lines), 'line', 'lines')}"),
        ]
    )
    rows = []
    for one in rules.consumers:
        sent = sum(line.counted for line in lines if line.is_of(one.name, one.key))
        rows.append((one.name, _of(sent, one.records), "; ".join(sorted(one.purposes))))
    console.echo("")
    console.show_table(("consumer", "records", "purposes"), rows, right=("records",))
    # As the policy has them, for who has installed another dpsumm and looked at it.
    installed = f'version = "{__version__}"', f'package = "{package_digest()}"'
    console.echo("", "Installed here:", *installed)
    if difference := differs(rules):
        raise InvalidParameterError(f"{policy}: {difference}: the node answers nothing")
    if wrong is not None:
        raise InvalidDataError(f"{rules.receipts}: {wrong}: the node answers nothing")


@app.command()
@described
def log(policy: Policy, out: Path | None = None, head: str | None = None) -> None:
    """Show answered and refused requests, and check that no line was changed or removed.

    Parameters
    ----------
    policy : POLICY
        The file that the node's configuration names.
    out : FILE.csv
        Also write the log to this file, for others to check (dpsumm node verify).
    head : DIGEST
        The head that an earlier look showed. The log must still have that line.
    """
    from dpsumm.flower.gate import open_receipts, read_policy

    if out is not None and out.exists():
        raise InvalidParameterError(f"--out: {out} exists already. Give another name")
    with open_receipts(read_policy(policy)) as receipts:
        lines, wrong = receipts.lines(), receipts.fault()
    _show(lines, wrong, head)
    if out is not None:
        from dpsumm.privacy.receipt import to_csv

        write_text(out, to_csv(lines))
        console.show_files([out])


@app.command()
@described
def verify(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    key: Annotated[Path, typer.Option(exists=True, dir_okay=False)],
    head: str | None = None,
) -> None:
    """Check a log that an owner has exported, with the owner's public key alone.

    Parameters
    ----------
    file : FILE.csv
        The file that dpsumm node log --out wrote.
    key : FILE.pub
        The owner's public key, receipts.key.pub.
    head : DIGEST
        The head that an earlier look showed. The log must still have that line.
    """
    from dpsumm.exchange.signatures import is_signed
    from dpsumm.privacy.receipt import fault, from_csv

    try:
        text, public = file.read_bytes().decode(), key.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidDataError(f"{file} or {key} is no text. Give the files as written") from None
    lines = from_csv(text)
    _show(lines, fault(lines, lambda data, seal: is_signed(data, seal, public)), head)


def _show(lines: list[Sealed], wrong: str | None, head: str | None) -> None:
    heads = ("", "when", "outcome", "consumer", "purpose", "run", "records", "counted", "why")
    rows = [_row(line) for line, _ in lines]
    console.show_table(heads, rows, right=("", "records", "counted"))
    if wrong is None and head is not None and head not in {line.digest for line, _ in lines}:
        wrong = f"no line has the digest {head}: lines were removed, or it is another log"
    if wrong is not None:
        raise InvalidDataError(f"the log does not hold together: {wrong}")
    console.echo(
        f"{counted(len(lines), 'line', 'lines')}, whole and sealed. Keep this digest elsewhere; "
        "with it, --head tells later whether lines are gone:",
        lines[-1][0].digest,
    )


def _row(line: Receipt) -> tuple[str, ...]:
    who = line.consumer or ("nobody known" if line.outcome != "made" else "")
    sent = (f"{line.records:,}", f"{line.counted:,}") if line.left else ("", "")
    when = line.at[:16].replace("T", " ")
    return (str(line.number), when, line.outcome, who, line.purpose, line.run, *sent, line.why)


def _of(count: int, most: int | None) -> str:
    return f"{count:,}" if most is None else f"{count:,} of {most:,}"

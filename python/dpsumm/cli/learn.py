"""The command ``dpsumm learn``. Needs the extra ``cli``."""

from __future__ import annotations

from dpsumm.cli import console
from dpsumm.cli.output import check_distinct, check_outputs, rows_in
from dpsumm.cli.spent import Kept
from dpsumm.cli.typed import typed
from dpsumm.ensemble.learn import learn as make_model
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.options import Data, Method, Output, Privacy, Whose, as_arguments
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Protected
from dpsumm.report.notes import Note
from dpsumm.report.numbers import percent, round_up

# Whether a party's labels are the classes may hang on one record, so a run cannot tell of it.
UNLISTED = (
    "The schema's label lists no categories: a party that spells its labels otherwise than the "
    "classes counts for nothing, and a run tells nobody. List them as categories, or let every "
    "party try at home: dpsumm schema check FILE --schema SCHEMA --classes A,B"
)


def run(data: Data, method: Method, privacy: Privacy, output: Output) -> None:
    """Do what the command is asked for."""
    if output.model is not None and method.points_are is Whose.CONSUMER:
        raise InvalidParameterError(
            "--model: a model of points that parties must not see may not be given away. Leave it "
            "out and keep the predictions to yourself"
        )
    files = rows_in(output.out) | output.files
    check_outputs(files)
    books = [] if privacy.ledger is None else [privacy.ledger]
    kept = Kept(Protected.OWNERS, {str(path): path for path in books}, privacy.run)
    check_distinct(data.files, [*books, *files.values()])
    given = as_arguments(data, method, privacy, output) | {"run": kept.run}
    label = given["schema"].label
    if label is not None and not label.categories:  # public: what a party's labels are, is not
        console.tell(Note(UNLISTED))
    with kept.told_when_stopped():
        # What is warned of is said at once: nothing is spent yet.
        with console.progress() as progress, console.warnings_told() as told:
            model = make_model(**given, progress=progress)
        kept.write_all(
            f"Epsilon {round_up(model.privacy.epsilon())} of the parties is spent",
            (output.out, model.save_predictions),
            (output.model, model.save),
            (output.report, model.report),
        )
    _show(model)
    console.show_files(files.values())
    new = [note for note in model.notes if note not in told]
    console.warn(new, seeded=model.privacy.seeded)
    console.tell_uncounted(kept.uncounted(), model.privacy.epsilon())


def _show(model: Model) -> None:
    privacy = model.privacy
    facts = [
        ("run", model.votes.run),
        ("learnt from", model.source),
        ("verdict", typed(model.verdict.text)),
        ("student", model.student),
        (
            "epsilon, parties",
            f"{round_up(privacy.epsilon())} at delta {privacy.delta:g}, unit: {model.votes.unit}",
        ),
    ]
    # A share of labels beside a model that means nothing would speak for it.
    if model.accuracy is not None and model.verdict.good:
        facts.insert(4, ("your labels", f"{percent(model.accuracy)} are met"))
    console.show_facts(facts)

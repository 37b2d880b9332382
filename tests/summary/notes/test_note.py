"""Notes: the worst first, called the same wherever they are read."""

import pickle
import re

from tests.helpers.noted import ALARM, INFO, WARNING

from dpsumm.cli import console
from dpsumm.report.notes import CALLS, Note, Severity, notebook_notes, shown_notes, sorted_notes


def test_notes_have_the_worst_first_and_survive_a_copy():
    notes = sorted_notes([Note("c", INFO), "b", Note("a", ALARM)])
    assert notes == ("a", "b", "c")
    assert [note.severity for note in notes] == [ALARM, WARNING, INFO]
    assert [note.severity for note in pickle.loads(pickle.dumps(notes))] == [ALARM, WARNING, INFO]


def test_each_severity_is_called_the_same_on_page_notebook_and_terminal(capsys):
    notes = [Note(f"<b>{severity.name}", severity) for severity in Severity]
    alarms, first, _ = shown_notes(notes[:2], seeded=False)
    page = "".join([*alarms, *first])
    told = [page, notebook_notes(notes[::-1])]
    assert re.findall('class="note ([a-z]+)"', page) == ["alarm", "warning"]
    assert (
        told[1].count("border-left:") == len(set(re.findall("border-left:([^;]+)", told[1]))) == 3
    )
    for html in told:
        assert "<b>" not in html
        assert html.index(CALLS[ALARM]) < html.index(CALLS[WARNING])
    assert f"{CALLS[INFO]}.</strong> &lt;b&gt;INFO" in told[1]
    console.warn(notes[::-1], seeded=False)
    said = [f"{CALLS[note.severity]}: {note}" for note in notes]
    assert capsys.readouterr().err.splitlines() == said
    assert len(set(CALLS.values())) == 3


def test_a_page_shows_all_alarms_and_three_notes_and_folds_the_rest():
    def unfolded(alarms, warnings, known=0):
        kinds = ((Severity.ALARM, alarms), (Severity.WARNING, warnings), (Severity.INFO, known))
        notes = [Note(f"note {kind.name} {i}", kind) for kind, n in kinds for i in range(n)]
        *open_, rest = shown_notes(notes, seeded=False)
        assert len(open_[0]) == alarms
        open_, folded = "".join(open_[0] + open_[1]), "".join(rest)
        assert open_.count("note ALARM") == alarms
        assert all(note in open_ + folded for note in notes)
        return open_.count("<strong>"), "".join(re.findall("<summary>(.*)</summary>", folded))

    assert unfolded(0, 3) == (3, "")
    assert unfolded(1, 3) == (3, "1 more note")
    assert unfolded(5, 2) == (5, "2 more notes")
    assert unfolded(0, 1, known=2) == (1, "2 more notes")
    assert unfolded(0, 0, known=2) == (0, "2 notes")

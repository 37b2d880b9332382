"""Separator, decimal sign and encoding of a public sample are found by its lines."""

import gzip

import pytest

from dpsumm.data import FileFormat
from dpsumm.data.sniff import sniffed

USUAL = FileFormat()


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("age,income\n30,1.5\n", "utf-8", USUAL),
        ("age;income\n30;1,5\n40;-2\n", "utf-8", FileFormat(separator=";", decimal=",")),
        ("age;income\n30;?\n40;2,25\n", "utf-8", FileFormat(separator=";", decimal=",")),
        ("age;name\n30;Smith, J\n40;1,5\n", "utf-8", FileFormat(separator=";")),
        ("age\tincome\n30\t1,5\n", "utf-8", FileFormat(separator="\t", decimal=",")),
        ("age|ville\n30|Orléans\n", "cp1252", FileFormat(separator="|", encoding="cp1252")),
        ("age;income\n30;1.5\n", "utf-16", FileFormat(separator=";", encoding="utf-16")),
        ('age,"a;b"\n"3;0",1\n', "utf-8", USUAL),
        ('age;"a\nb"\n"3;0";1\n', "utf-8", FileFormat(separator=";")),
        ("age\n30\n", "utf-8", USUAL),
        ("a;b\n1;2\n3;4;5\n", "utf-8", USUAL),
        ("", "utf-8", USUAL),
    ],
)
def test_the_first_lines_show_how_a_sample_is_spelt(tmp_path, text, encoding, found):
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_bytes(text.encode(encoding))
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    assert sniffed(plain, USUAL) == sniffed(packed, USUAL) == found


def test_what_is_said_stays(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe;x\n30;1,5\n".encode("cp1252"))
    said = FileFormat(separator="|", encoding="iso8859-1")
    assert sniffed(path, said) == said


@pytest.mark.parametrize(
    "content",
    [b"\x81\x8d;\xff\n", b"\xff\xfe\x00", b'a;"b\n', b"\0;\0\n1;2\n", b'a;"' + b"x" * 200_000],
)
def test_a_damaged_file_is_left_to_the_reader(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert sniffed(path, USUAL).kind is None
    cut = tmp_path / "b.csv.gz"
    cut.write_bytes(gzip.compress(content)[:-6])
    assert sniffed(cut, USUAL) == USUAL
    packed = bytearray(gzip.compress(content))
    packed[10] = 0xFF  # a block of a kind that does not exist
    cut.write_bytes(packed)
    assert sniffed(cut, USUAL) == USUAL
    assert sniffed(tmp_path / "none.csv", USUAL) == USUAL


def test_a_long_file_is_judged_by_its_first_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "1,5;2\n" * 200_000 + "damaged\n")
    assert sniffed(path, USUAL) == FileFormat(separator=";", decimal=",")

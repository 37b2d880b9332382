"""Excel files by hand."""

import zipfile
from datetime import date
from xml.sax.saxutils import escape

TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/\
content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.\
relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>"""
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# Cells of style 1 are dates. Excel's day 0 is that of 1900-03-01 less 61.
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf/><xf numFmtId="14"/></cellXfs></styleSheet>'
)
DAY_0 = date(1899, 12, 30).toordinal()


def write_sheet(path, rows, sheets=1):
    """Write an Excel file by hand: text in line, numbers as they are, no cell for empty text.

    A date is a number of days with a style that shows it as one.
    """

    def cell(row, column, value):
        at = f"{chr(ord('A') + column)}{row + 1}"
        if isinstance(value, str):
            text = f'<t xml:space="preserve">{escape(value)}</t>'
            return f'<c r="{at}" t="inlineStr"><is>{text}</is></c>' if value else ""
        if isinstance(value, date):
            return f'<c r="{at}" s="1"><v>{value.toordinal() - DAY_0}</v></c>'
        return f'<c r="{at}"><v>{value}</v></c>'

    body = "".join(
        f'<row r="{i + 1}">{"".join(cell(i, j, value) for j, value in enumerate(row))}</row>'
        for i, row in enumerate(rows)
    )
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
    listed = "".join(
        f'<sheet name="s{i}" sheetId="{i + 1}" r:id="rId{i + 1}"/>' for i in range(sheets)
    )
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    parts = "".join(
        f'<Relationship Id="rId{i + 1}" Type="{OFFICE}/worksheet" Target="worksheets/{i}.xml"/>'
        for i in range(sheets)
    )
    parts += f'<Relationship Id="style" Type="{OFFICE}/styles" Target="styles.xml"/>'
    root = f'<Relationship Id="r" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", TYPES.replace("\\\n", ""))
        file.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}">{root}</Relationships>')
        file.writestr("xl/workbook.xml", book)
        relations = f'<Relationships xmlns="{PACKAGE}">{parts}</Relationships>'
        file.writestr("xl/_rels/workbook.xml.rels", relations)
        file.writestr("xl/styles.xml", STYLES)
        for i in range(sheets):
            file.writestr(f"xl/worksheets/{i}.xml", sheet)

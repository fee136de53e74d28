"""A page as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from analysis.formatting import visible
from analysis.report.blocks import Block, Box, Bullets, Facts, Figure, Heading, Page, Paragraph, Table
from analysis.report.svg import embeddable

# Nothing may be fetched and nothing may run, whatever text the page was given.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1a1a1a; background: #fff;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 1.8rem 0 .5rem; }
.box { border: 2px solid #555; border-left-width: .7rem; padding: .6rem 1rem; }
.box p { margin: .3rem 0; } .box .title { font-size: 1.25rem; font-weight: 700; }
.met { border-color: #0072b2; } .not_met { border-color: #b34700; } .open { border-color: #8a6d00; }
.void { border-color: #333; background: #f0f0f0; } .pilot { border-color: #777; border-style: dashed; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; font-size: .9rem; }
caption { text-align: left; color: #444; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top;
  overflow-wrap:break-word; min-width: 3rem; }
th { border-bottom-color: #555; } .right { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } h2 { break-after: avoid; } }
"""


def render(page: Page) -> str:
    """Return the page as HTML that is well-formed XML too; text from outside is escaped.

    Raises
    ------
    InputError
        When a figure is no static SVG document.
    """
    body = "\n".join(_block(block) for block in page.blocks)
    title = _text(page.title)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8" />\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}" />\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _block(block: Block) -> str:
    match block:
        case Heading(text=text):
            return f"<h2>{_text(text)}</h2>"
        case Paragraph(text=text):
            return f"<p>{_text(text)}</p>"
        case Bullets(items=items, ordered=ordered):
            tag = "ol" if ordered else "ul"
            return f"<{tag}>\n" + "\n".join(f"<li>{_text(item)}</li>" for item in items) + f"\n</{tag}>"
        case Facts(rows=rows):
            cells = [f'<tr><th scope="row">{_text(a)}</th><td>{_text(b)}</td></tr>' for a, b in rows]
            return "<table>\n" + "\n".join(cells) + "\n</table>"
        case Table():
            return _table(block)
        case Box(title=title, lines=lines, tone=tone):
            inner = "\n".join(f"<p>{_text(line)}</p>" for line in lines)
            return f'<div class="box {tone}">\n<p class="title">{_text(title)}</p>\n{inner}\n</div>'
        case Figure(name=name, svg=svg):
            return f'<figure role="img" aria-label="{_text(name)}">\n{embeddable(name, svg)}\n</figure>'


def _table(block: Table) -> str:
    def side(column: int) -> str:
        return ' class="right"' if column in block.right else ""

    head = "".join(f'<th scope="col"{side(n)}>{_text(cell)}</th>' for n, cell in enumerate(block.headers))
    rows = [
        "<tr>" + "".join(f"<td{side(n)}>{_text(cell)}</td>" for n, cell in enumerate(row)) + "</tr>"
        for row in block.rows
    ]
    return (
        f'<div class="wide"><table>\n<caption>{_text(block.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table></div>"
    )

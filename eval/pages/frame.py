"""The frame of a wide page: a menu beside its sections, tables that sort, and boxes that search them."""

from html import escape

STYLE = """<style>
html { scroll-behavior: smooth; scroll-padding-top: 3.2rem; }
main.wide { max-width: 92rem; display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 0 1.6rem; align-items: start; }
nav { position: sticky; top: 1.5rem; display: flex; flex-direction: column; gap: .1rem; font-size: .92rem; }
nav b { margin-bottom: .5rem; }
nav a { color: var(--soft); text-decoration: none; padding: .22rem 0; }
nav a:hover, nav a:focus { color: var(--ink); }
article > section { margin-bottom: 3rem; }
article > section > h2 { margin-top: 0; font-size: 1.25rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.8rem 0 .4rem; }
small { color: var(--soft); display: block; }
article th { white-space: normal; vertical-align: bottom; position: sticky; top: 0;
  background: var(--paper); }
article th, article td { padding-left: .65rem; font-size: .86rem; }
article .scroll { overflow: auto; }
.tall .scroll { max-height: 40rem; }
.graphs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(28rem, 100%), 1fr)); gap: 0 2rem; }
figure svg, .chart svg { display: block; width: 100%; height: auto; }
.chart svg { max-width: 66rem; min-width: 40rem; }
figure svg { max-width: 50rem; min-width: 26rem; }
svg text { font-family: inherit !important; }
th[aria-sort] { cursor: pointer; }
th[aria-sort=ascending]::after { content: " \\2191"; }
th[aria-sort=descending]::after { content: " \\2193"; }
td:first-child a { overflow-wrap: anywhere; }
input[type=search] { width: 100%; max-width: 24rem; font: inherit; padding: .4rem .7rem; color: var(--ink);
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; }
.gifs { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.gif { max-width: 30rem; width: 100%; }
.gif img { width: 100%; display: block; border-radius: 6px; image-rendering: pixelated; }
@media (max-width: 52rem) {
  main.wide { display: block; padding-top: 0; }
  nav { top: 0; z-index: 1; flex-direction: row; gap: 1.1rem; overflow-x: auto; background: var(--paper); padding: .7rem 0;
    margin-bottom: 1rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
  nav { scrollbar-width: none; }
  article th { white-space: nowrap; }
  nav b { display: none; }
  td:first-child { white-space: normal; min-width: 9rem; position: sticky; left: 0; background: var(--paper); } }
</style>"""
SCRIPT = """<script>
addEventListener("DOMContentLoaded", () => {
  const value = (row, i) => row.cells[i].textContent.trim();
  for (const table of document.querySelectorAll("article table")) {
    const heads = [...table.rows[0].cells];
    const sort = (head, i) => {
      const rows = [...table.rows].slice(1).filter(row => !row.classList.contains("bound"));
      const stay = [...table.rows].slice(1).filter(row => row.classList.contains("bound"));
      const number = text => parseFloat(text.replace(/,/g, ""));
      const lacks = text => /^[-–()\\s]*$/.test(text);
      const words = rows.some(row => !lacks(value(row, i)) && isNaN(number(value(row, i))));
      // the best number and the first word come first, at the next press the other way round
      const up = head.getAttribute("aria-sort") === (words ? "ascending" : "descending");
      heads.forEach(h => h.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up !== words ? "ascending" : "descending");
      rows.sort((a, b) => {
        const [x, y] = [value(a, i), value(b, i)];
        if (words) return (up ? -1 : 1) * x.localeCompare(y, undefined, {numeric: true});
        const [p, q] = [number(x), number(y)];
        if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q);  // no number: below all others
        return up ? p - q : q - p;
      });
      [...rows, ...stay].forEach(row => row.parentNode.append(row));
    };
    heads.forEach((head, i) => {
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(head, i));
      head.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();  // a space would scroll
        sort(head, i);
      });
    });
  }
  for (const box of document.querySelectorAll("input[data-finds]")) {
    const rows = [...document.querySelectorAll("#" + box.dataset.finds + " tr")].slice(1);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\\s+/);
      rows.forEach(row => { row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word)); });
    });
  }
});
</script>"""


def framed(house: str, title: str, sections: dict[str, str]) -> str:
    """The menu and the sections that hold something."""
    filled = {"".join(c if c.isalnum() else "-" for c in name.lower()): (name, html) for name, html in sections.items() if html}
    menu = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, (name, _) in filled.items())
    body = "".join(f'<section id="{key}"><h2>{escape(name)}</h2>{html}</section>\n' for key, (name, html) in filled.items())
    return f"<nav><b>{escape(house)}</b>{menu}</nav>\n<article><h1>{escape(title)}</h1>\n{body}</article>"

// The table: what each chunk of each rank holds at a position. A real table, which screen readers read.
import { el } from "./dom";
import { Content, Scene } from "./scene";
import { States, colour, ranksOf } from "./state";

interface Cell {
  td: HTMLTableCellElement;
  text: HTMLElement;
  rank: number;
  column: number;
}

// fill paints a part of a cell's bar for each rank whose input is there, so that a sum fills it.
function fill(ranks: number[], of: number): string {
  if (ranks.length === 0) {
    return "none";
  }
  const stops = ranks.sort((a, b) => a - b).map((rank) => {
    const paint = colour(rank, of);
    return `transparent ${(rank / of) * 100}%, ${paint} ${(rank / of) * 100}% ${((rank + 1) / of) * 100}%, ` +
      `transparent ${((rank + 1) / of) * 100}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

export class Table {
  private readonly cells: Cell[] = [];
  private readonly wrong = new Map<number, string>(); // marks of chunks that end wrong, by rank and column

  constructor(parent: HTMLElement, private readonly scene: Scene) {
    for (const wrong of scene.wrong) {
      this.wrong.set(wrong.rank * scene.columns.length + wrong.column, `${wrong.mark} ${wrong.text}`);
    }
    parent.replaceChildren(this.build());
  }

  private build(): HTMLTableElement {
    const { scene } = this;
    const groups = el("tr", {}, el("td"));
    const names = el("tr", {}, el("th", { scope: "col" }, "rank"));
    for (let at = 0; at < scene.columns.length;) {
      const buffer = scene.columns[at]?.buffer ?? 0;
      let end = at;
      for (; scene.columns[end]?.buffer === buffer; end++) {
        const name = scene.buffers[buffer]?.name ?? "";
        names.append(el("th", { scope: "col", "aria-label": `${name}[${scene.columns[end]?.index}]` },
          `${scene.columns[end]?.index}`));
      }
      const name = scene.buffers[buffer]?.name ?? "";
      groups.append(el("th", { scope: "colgroup", colspan: end - at, class: "group" }, name));
      at = end;
    }
    const body = el("tbody");
    for (let rank = 0; rank < scene.collective.ranks; rank++) {
      body.append(this.row(rank));
    }
    return el("table", { class: "chunks" }, el("caption", { class: "hidden" }, "What each chunk of each rank holds"),
      el("thead", {}, groups, names), body);
  }

  private row(rank: number): HTMLTableRowElement {
    const { scene } = this;
    const node = scene.collective.nodeOf[rank];
    const first = rank > 0 && node !== scene.collective.nodeOf[rank - 1];
    const row = el("tr", { class: first ? "next-node" : undefined });
    const head = el("th", { scope: "row" }, el("i", { class: "rank" }), `${rank}`);
    head.style.setProperty("--rank", colour(rank, scene.collective.ranks));
    if (scene.collective.nodes > 1) {
      head.title = `node ${node}`;
    }
    row.append(head);
    scene.columns.forEach((at, column) => {
      const text = el("span");
      const td = el("td", {}, text);
      if ((scene.buffers[at.buffer]?.chunks[rank] ?? 0) <= at.index) {
        td.className = "none";
      } else {
        this.cells.push({ td, text, rank, column });
      }
      row.append(td);
    });
    return row;
  }

  // short returns the text of a cell. A sum does not repeat the index that its column has.
  private short(content: Content | undefined, column: number): string {
    const index = `:${this.scene.columns[column]?.index}`;
    const text = content?.text ?? "";
    return content && content.size > 1 && text.endsWith(index) ? text.slice(0, -index.length) : text;
  }

  /** show fills the cells with what states has. At the end it marks what is wrong. */
  show(states: States, atEnd: boolean, only?: { rank: number; column: number }): void {
    const width = this.scene.columns.length;
    for (const { td, text, rank, column } of this.cells) {
      const content = states.holds(rank, column);
      const wrong = atEnd ? this.wrong.get(rank * width + column) : undefined;
      const said = this.short(content, column);
      if (text.textContent !== said) {
        text.textContent = said;
      }
      td.style.backgroundImage = content ? fill(ranksOf(content), this.scene.collective.ranks) : "none";
      td.title = [content?.says ?? "nothing", wrong ?? ""].filter(Boolean).join("; ");
      const lit = only?.rank === rank && only.column === column;
      td.className = [states.written(rank, column) && "now", wrong !== undefined && "wrong", lit && "lit"]
        .filter(Boolean).join(" ");
    }
  }
}

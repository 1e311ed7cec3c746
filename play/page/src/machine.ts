// The machine: GPUs, NICs and switches at rest, and chunks that move along the paths between them.
import { el, svg } from "./dom";
import { glyph } from "./glyph";
import { Layout, alone, layout } from "./layout";
import { Op, Path, Ref, Scene } from "./scene";
import { LEVELS, States, colour } from "./state";

interface Point {
  x: number;
  y: number;
}

interface Dot {
  mark: SVGGElement;
  points: Point[];
  lengths: number[]; // to each of the points
}

const MOST_DOTS = 320; // of a frame
const REST = 0.72; // how far along its path a dot is shown when nothing moves

export class MachineView {
  private readonly scene: Scene;
  private readonly at: Layout;
  private readonly links = new Map<string, SVGLineElement>();
  private readonly gpus = new Map<number, SVGGElement>(); // by rank
  private readonly flying = svg("g");
  private readonly image: SVGSVGElement;
  private readonly caption = el("p", { class: "caption" });
  private dots: Dot[] = [];
  private moving = 0; // of requestAnimationFrame

  constructor(parent: HTMLElement, scene: Scene) {
    this.scene = scene.machine.seats.length > 0 ? scene : alone(scene);
    this.at = layout(this.scene);
    this.image = svg("svg", { viewBox: `0 0 ${this.at.width} ${this.at.height}`, role: "img", class: "map" });
    this.image.append(this.drawBoxes(), this.drawLinks(), this.drawVertices(), this.flying);
    parent.replaceChildren(this.image, this.caption);
  }

  private drawBoxes(): SVGGElement {
    const group = svg("g");
    if (this.at.boxes.length > 1) {
      for (const box of this.at.boxes) {
        group.append(svg("rect", { class: "node", x: box.x, y: box.y, width: box.width, height: box.height, rx: 12 }),
          svg("text", { class: "node-name", x: box.x + 10, y: box.y + 20 }, `node ${box.node}`));
      }
    }
    return group;
  }

  // key names a link in either direction: both are one line.
  private key(from: number, to: number): string {
    return from < to ? `${from} ${to}` : `${to} ${from}`;
  }

  private drawLinks(): SVGGElement {
    const group = svg("g");
    const busiest = this.scene.figures?.link ?? -1;
    this.scene.machine.links.forEach((link, index) => {
      const from = this.at.places.get(link.from);
      const to = this.at.places.get(link.to);
      const key = this.key(link.from, link.to);
      const known = this.links.get(key);
      const line = known ?? svg("line", {
        class: link.network ? "link network" : "link", x1: from?.x, y1: from?.y, x2: to?.x, y2: to?.y,
      });
      if (from && to && !known) {
        this.links.set(key, line);
        group.append(line);
      }
      if (index === busiest) {
        line.classList.add("busiest");
        group.append(line); // above the others
      }
    });
    return group;
  }

  private drawVertices(): SVGGElement {
    const group = svg("g");
    for (const [index, place] of this.at.places) {
      const vertex = this.scene.machine.vertices[index];
      if (!vertex) {
        continue;
      }
      const kind = vertex.kind === "gpu" && vertex.rank < 0 ? "gpu idle" : vertex.kind;
      const mark = svg("g", { class: `vertex ${kind}`, transform: `translate(${place.x} ${place.y})` },
        svg("title", {}, vertex.rank >= 0 ? `rank ${vertex.rank}: ${vertex.name}` : vertex.name));
      if (vertex.kind === "gpu") {
        const disc = svg("circle", { r: place.r });
        if (vertex.rank >= 0) {
          disc.style.stroke = colour(vertex.rank, this.scene.collective.ranks);
          this.gpus.set(vertex.rank, mark);
        }
        const name = svg("text", { dy: "0.35em" }, vertex.rank >= 0 ? `${vertex.rank}` : "");
        name.style.fontSize = `${Math.min(place.r * 0.95, 18)}px`;
        mark.append(disc, name);
      } else {
        const { r } = place;
        mark.append(svg("rect", { x: -r, y: -r * 0.7, width: 2 * r, height: 1.4 * r, rx: r / 4 }));
      }
      group.append(mark);
    }
    return group;
  }

  // pointsOf returns the way of a move: along the links of its path, or straight.
  private pointsOf(op: Op, from: number, to: number): { points: Point[]; path?: Path } {
    const { machine } = this.scene;
    const path = op.paths.map((p) => machine.paths[p]).find((p) => p?.from === from && p.to === to);
    const stops = [machine.seats[from], ...(path?.links.map((l) => machine.links[l]?.to) ?? [machine.seats[to]])];
    const points = stops.map((v) => this.at.places.get(v ?? -1)).filter((p) => p !== undefined);
    return path ? { points, path } : { points };
  }

  /** show draws the moves of a frame. states has what was before it. */
  show(frame: number, states: States): void {
    this.stop();
    this.dots = [];
    this.flying.replaceChildren();
    this.image.querySelectorAll(".lit").forEach((line) => line.classList.remove("lit"));
    const ops = (this.scene.frames[frame]?.ops ?? []).map((o) => this.scene.ops[o]).filter((op) => op !== undefined);
    let left = 0;
    for (const op of ops) {
      for (const to of op.to) {
        for (const from of op.from) {
          if (from.rank !== to.rank && this.dots.length < MOST_DOTS) {
            this.send(op, from, to, states);
          } else if (from.rank !== to.rank) {
            left++;
          }
        }
        this.gpus.get(to.rank)?.classList.add("lit");
      }
    }
    this.say(frame, ops, left);
    this.place(REST);
  }

  private send(op: Op, from: Ref, to: Ref, states: States): void {
    const { points, path } = this.pointsOf(op, from.rank, to.rank);
    const content = states.holds(from.rank, from.column);
    const seat = this.at.places.get(this.scene.machine.seats[to.rank] ?? -1);
    const size = Math.max(6, Math.min(11, (seat?.r ?? 11) * 0.62));
    const mark = glyph(content, this.scene.collective.ranks, size, op.count > 1 ? `×${op.count}` : `${from.index}`);
    mark.append(svg("title", {}, content?.says ?? "nothing"));
    mark.classList.add(`level-${op.level}`);
    const lengths = [0];
    points.slice(1).forEach((p, i) => {
      const before = points[i] ?? p;
      lengths.push((lengths[i] ?? 0) + Math.hypot(p.x - before.x, p.y - before.y));
    });
    for (const index of path?.links ?? []) {
      const link = this.scene.machine.links[index];
      const line = link && this.links.get(this.key(link.from, link.to));
      line?.classList.add("lit");
    }
    this.flying.append(mark);
    this.dots.push({ mark, points, lengths });
  }

  // place puts all dots at a part of their ways.
  private place(part: number): void {
    for (const { mark, points, lengths } of this.dots) {
      const far = part * (lengths[lengths.length - 1] ?? 0);
      let i = 1;
      while (i < lengths.length - 1 && (lengths[i] ?? 0) < far) {
        i++;
      }
      const from = points[i - 1];
      const to = points[i];
      if (from && to) {
        const begin = lengths[i - 1] ?? 0;
        const share = (far - begin) / Math.max((lengths[i] ?? 0) - begin, 1e-9);
        const x = from.x + (to.x - from.x) * share;
        const y = from.y + (to.y - from.y) * share;
        mark.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      }
    }
  }

  /** fly moves the dots along their ways once, in a time in ms. */
  fly(time: number): void {
    const begun = performance.now();
    const tick = (now: number): void => {
      const done = Math.min(Math.max((now - begun) / time, 0), 1);
      this.place(REST * done * (2 - done));
      this.moving = done < 1 ? requestAnimationFrame(tick) : 0;
    };
    this.stop();
    this.place(0);
    this.moving = requestAnimationFrame(tick);
  }

  private stop(): void {
    cancelAnimationFrame(this.moving);
    this.moving = 0;
  }

  private say(frame: number, ops: Op[], left: number): void {
    const { machine } = this.scene;
    const moves = Object.keys(LEVELS).map((level) => ({ level, n: ops.filter((op) => op.level === level).length }))
      .filter(({ n }) => n > 0).map(({ level, n }) => `${n} ${LEVELS[level]}`);
    const what = moves.length > 0 ? `Moves of step ${frame + 1}: ${moves.join(", ")}.` : "Nothing moves yet.";
    const name = machine.problem || machine.name;
    this.image.setAttribute("aria-label", `${machine.name || "Ranks"}: ${machine.seats.length} ranks. ${what}`);
    this.caption.textContent = `${name}. ${what}${left > 0 ? ` ${left} more moves are not drawn.` : ""}`;
  }

  /** alarm marks the ranks of a fault. */
  alarm(ranks: Iterable<number>): void {
    for (const rank of ranks) {
      this.gpus.get(rank)?.classList.add("alarm");
    }
  }
}

// The timeline: which step of which thread block ran when, as the simulation or a trace has it.
import { el, svg } from "./dom";
import { Scene, Span, Timeline, TimeSpan } from "./scene";

const LEFT = 74; // of the labels
const AXIS = 22;
const LANE = 18; // of the busiest link
const LOOKS = 8; // colours that app.css has

/** us writes a time in microseconds. */
export function us(time: number): string {
  return time >= 1e4 ? `${(time / 1000).toFixed(1)} ms` : `${time >= 100 ? time.toFixed(0) : time.toFixed(2)} us`;
}

// round returns a step of the axis near a length: 1, 2 or 5 times a power of ten.
function round(length: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(length, 1e-3)));
  return ([1, 2, 5].find((m) => m * power >= length) ?? 10) * power;
}

export class TimelineView {
  private readonly lit = svg("path", { class: "span-lit" });
  private readonly litLink = svg("path", { class: "link-lit" });
  private readonly cursor = svg("line", { class: "cursor" });
  private readonly says = el("p", { class: "caption" });
  private readonly image = svg("svg", { role: "img", class: "chart" });
  private readonly scroll = el("div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Timeline, scrolls" });
  private readonly byRow: TimeSpan[][];
  private readonly busy: TimeSpan[]; // of operations whose data goes over the busiest link
  private readonly shades = new Map<number, number>(); // colours of the looks that spans have
  private readonly lane: boolean;
  private high = 10;
  private width = 0;
  private frame = -1;

  /** go is called with the frame of a step that somebody chose, and with its source position. */
  constructor(
    parent: HTMLElement, private readonly timeline: Timeline, private readonly scene: Scene | undefined,
    private readonly go: (frame: number, at: Span) => void,
  ) {
    this.byRow = timeline.rows.map(() => []);
    for (const span of timeline.spans) {
      this.byRow[span.row]?.push(span);
    }
    const looks = [...new Set(timeline.spans.map((span) => span.look))].sort((a, b) => a - b);
    looks.forEach((look, i) => this.shades.set(look, i % LOOKS));
    this.busy = this.overBusiest();
    this.lane = this.busy.length > 0;
    this.high = Math.min(16, Math.max(6, Math.floor(190 / Math.max(timeline.rows.length, 1))));
    this.scroll.append(this.image);
    parent.replaceChildren(this.scroll, this.says, this.legend());
    this.scroll.addEventListener("pointermove", (event) => this.tell(this.under(event)));
    this.scroll.addEventListener("pointerleave", () => this.tell(undefined));
    this.scroll.addEventListener("click", (event) => {
      const step = this.timeline.steps[this.under(event)?.step ?? -1];
      if (step) {
        this.go(step.frame, step.at);
      }
    });
    const observer = new ResizeObserver(() => {
      if (!parent.isConnected) {
        observer.disconnect();
      } else if (Math.abs(this.scroll.clientWidth - this.width) > 1) {
        this.draw();
      }
    });
    observer.observe(this.scroll);
    this.draw();
    this.tell(undefined);
  }

  private overBusiest(): TimeSpan[] {
    const { timeline, scene } = this;
    const link = timeline.links[0]?.link;
    const over = (links: number[]): boolean => link !== undefined && links.includes(link);
    const paths = new Set(scene?.machine.paths.flatMap((path, i) => over(path.links) ? [i] : []));
    const ops = new Set(scene?.ops.flatMap((op, i) => op.paths.some((p) => paths.has(p)) ? [i] : []));
    return timeline.spans.filter((span) =>
      ops.has(timeline.steps[span.step]?.op ?? -1) && span.length_us > span.waited_us);
  }

  // lanes returns the bars of spans in the lane of the busiest link.
  private lanes(spans: TimeSpan[]): string {
    return spans.map((s) => this.bar(-1, s.begin_us + s.waited_us, s.begin_us + s.length_us)).join("");
  }

  private x(time: number): number {
    return LEFT + (time / Math.max(this.timeline.end_us, 1e-9)) * (this.width - LEFT - 10);
  }

  private get top(): number {
    return AXIS + (this.lane ? LANE + 4 : 0);
  }

  // bar returns the path of a bar in a row, whose lane is -1 for the busiest link.
  private bar(row: number, begin: number, end: number): string {
    const y = row < 0 ? AXIS : this.top + row * this.high;
    const height = row < 0 ? LANE - 4 : this.high - 1;
    const x = this.x(begin);
    return `M${x.toFixed(1)} ${y}h${Math.max(this.x(end) - x, 0.6).toFixed(1)}v${height}h${(-Math.max(
      this.x(end) - x, 0.6)).toFixed(1)}z`;
  }

  private draw(): void {
    const { timeline } = this;
    this.width = Math.max(this.scroll.clientWidth, 320);
    const height = this.top + timeline.rows.length * this.high + 4;
    this.image.setAttribute("width", `${this.width}`);
    this.image.setAttribute("height", `${height}`);
    this.image.replaceChildren(...this.axis(height), ...this.labels());
    const looks = timeline.looks.map(() => "");
    let waits = "";
    for (const span of timeline.spans) {
      const work = span.begin_us + span.waited_us;
      if (span.waited_us > 0) {
        waits += this.bar(span.row, span.begin_us, work);
      }
      looks[span.look] += this.bar(span.row, work, span.begin_us + span.length_us);
    }
    this.image.append(svg("path", { d: waits, class: "span-wait" }));
    looks.forEach((d, i) => this.image.append(svg("path", { d, class: `look-${this.shades.get(i) ?? 0}` })));
    if (this.lane) {
      this.image.append(svg("path", { d: this.lanes(this.busy), class: "link-busy" }));
    }
    this.image.append(this.lit, this.litLink, this.cursor);
    this.show(this.frame);
  }

  private axis(height: number): SVGElement[] {
    const step = round(this.timeline.end_us / 7);
    const drawn: SVGElement[] = [];
    for (let time = 0; time <= this.timeline.end_us; time += step) {
      const x = this.x(time);
      drawn.push(svg("line", { class: "tick", x1: x, x2: x, y1: AXIS - 4, y2: height }),
        svg("text", { class: "tick-text", x, y: AXIS - 8 }, us(time)));
    }
    return drawn;
  }

  private labels(): SVGElement[] {
    const drawn: SVGElement[] = [];
    if (this.lane) {
      drawn.push(svg("text", { class: "row-text", x: LEFT - 6, y: AXIS + 11 }, "busiest link"));
    }
    let before = -1;
    this.timeline.rows.forEach((row, i) => {
      const y = this.top + i * this.high;
      if (row.rank !== before) {
        drawn.push(svg("text", { class: "row-text", x: LEFT - 6, y: y + 9 }, `rank ${row.rank}`),
          svg("line", { class: "row-line", x1: 4, x2: this.width, y1: y - 0.5, y2: y - 0.5 }));
      }
      before = row.rank;
    });
    return drawn;
  }

  private legend(): HTMLElement {
    const waits = this.timeline.spans.some((span) => span.waited_us > 0) ? ["waits"] : [];
    const list = el("ul", { class: "legend" });
    for (const [look, shade] of this.shades) {
      list.append(el("li", {}, el("i", { class: `look-${shade}` }), this.timeline.looks[look] ?? ""));
    }
    waits.forEach((look) => list.append(el("li", {}, el("i", { class: "span-wait" }), look)));
    return list;
  }

  private under(event: MouseEvent): TimeSpan | undefined {
    const box = this.image.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - this.top) / this.high);
    const time = ((event.clientX - box.left - LEFT) / (this.width - LEFT - 10)) * this.timeline.end_us;
    const slack = (2 / this.width) * this.timeline.end_us;
    return this.byRow[row]?.find((s) => time >= s.begin_us - slack && time <= s.begin_us + s.length_us + slack);
  }

  private tell(span: TimeSpan | undefined): void {
    const { timeline } = this;
    const step = timeline.steps[span?.step ?? -1];
    if (span && step) {
      const waited = span.waited_us > 0 ? `, waited ${us(span.waited_us)}` : "";
      this.says.textContent = `${timeline.rows[span.row]?.name}, step ${step.step}: ${step.text}; ` +
        `${us(span.begin_us)} to ${us(span.begin_us + span.length_us)}${waited}`;
      return;
    }
    const busiest = timeline.links[0];
    const link = busiest ? this.scene?.machine.links[busiest.link] : undefined;
    const name = (vertex: number): string => this.scene?.machine.vertices[vertex]?.name ?? "";
    const lane = busiest && link
      ? ` The busiest link, ${name(link.from)} to ${name(link.to)}, is occupied ` +
        `${Math.round(busiest.share * 100)} % of it.`
      : "";
    const launch = timeline.launch_us > 0 ? `, without the launch of ${us(timeline.launch_us)}` : "";
    const part = timeline.of > timeline.iterations
      ? ` It shows ${timeline.iterations} of ${timeline.of} tile iterations.` : "";
    this.says.textContent = `${timeline.title || timeline.source}: ${us(timeline.end_us)}${launch}.${lane}${part}`;
    this.image.setAttribute("aria-label", `Timeline. ${this.says.textContent}`);
  }

  /** show lights the steps of a frame; -1 lights none. */
  show(frame: number): void {
    this.frame = frame;
    const { timeline } = this;
    const steps = new Set<number>();
    timeline.steps.forEach((step, i) => {
      if (frame >= 0 && step.frame === frame) {
        steps.add(i);
      }
    });
    const spans = timeline.spans.filter((span) => steps.has(span.step));
    this.lit.setAttribute("d", spans.map((s) => this.bar(s.row, s.begin_us, s.begin_us + s.length_us)).join(""));
    this.litLink.setAttribute("d", this.lanes(this.busy.filter((span) => steps.has(span.step))));
    const end = this.scene?.frames[frame]?.end_us ?? null;
    this.cursor.toggleAttribute("hidden", end === null);
    const x = this.x(end ?? 0);
    const y2 = this.top + timeline.rows.length * this.high;
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: AXIS - 4, y2 })) {
      this.cursor.setAttribute(name, `${value}`);
    }
  }
}

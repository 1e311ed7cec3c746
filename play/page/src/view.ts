// The player: the verdict, one slider, and under it the three views of a scene.
import { el, still } from "./dom";
import { drawFault } from "./fault";
import { MachineView } from "./machine";
import { Op, Scene, Span, Timeline } from "./scene";
import { LEVELS, States, atText, sayOp } from "./state";
import { Table } from "./table";
import { TimelineView } from "./timeline";
import { VerdictView } from "./verdict";

/** Listener gets what the source is to show: the operations of the step, and a position that somebody asked for. */
export interface Listener {
  step(ops: readonly Op[]): void;
  go(at: Span): void;
}

const TOLD = 4; // operations of a step that are written out

export class Player {
  private readonly verdict: VerdictView;
  private readonly fault = el("div");
  private readonly slider = el("input", { type: "range", min: 0, max: 0, value: 0, id: "step", "aria-label": "Step" });
  private readonly count = el("output", { for: "step" });
  private readonly play = el("button", { type: "button", "aria-pressed": "false" }, "Play");
  private readonly levels = el("div", { class: "levels", "aria-hidden": "true" });
  private readonly levelKey = el("ul", { class: "legend level-key", hidden: true },
    ...["node", "network"].map((level) => el("li", {}, el("i", { class: `level-${level}` }), LEVELS[level] ?? "")));
  private readonly ops = el("ul", { class: "ops" });
  private readonly machineAt = el("div", { class: "body" });
  private readonly tableAt = el("div",
    { class: "body scroll", tabindex: 0, role: "group", "aria-label": "Table, scrolls" });
  private readonly timelineAt = el("div", { class: "body" });
  private readonly views: HTMLElement;
  private scene: Scene | undefined;
  private states: States | undefined;
  private machine: MachineView | undefined;
  private table: Table | undefined;
  private timeline: TimelineView | undefined;
  private faultShown = "";
  private timer = 0;

  constructor(private readonly parent: HTMLElement, private readonly listener: Listener) {
    const view = (name: string, title: string, body: HTMLElement): HTMLElement =>
      el("section", { class: `view ${name}`, id: `view-${name}`, "aria-label": title }, el("h2", {}, title), body);
    this.views = el("div", { class: "views" }, view("machine", "Machine", this.machineAt),
      view("table", "Table", this.tableAt), view("timeline", "Timeline", this.timelineAt));
    const top = el("div", { class: "top" });
    this.verdict = new VerdictView(top);
    const jump = (text: string, label: string, to: () => number): HTMLButtonElement => {
      const button = el("button", { type: "button", "aria-label": label }, text);
      button.addEventListener("click", () => this.step(to()));
      return button;
    };
    const controls = el("div", { class: "controls", role: "group", "aria-label": "Steps" },
      jump("|◀", "First step", () => 0), jump("◀", "Step back", () => this.position - 1), this.play,
      jump("▶", "Step on", () => this.position + 1), jump("▶|", "Last step", () => this.last),
      el("div", { class: "track" }, this.slider, this.levels), this.count);
    parent.replaceChildren(top, controls, this.levelKey, this.ops, this.fault, this.views);
    this.slider.addEventListener("input", () => this.shown());
    this.play.addEventListener("click", () => this.toggle());
    parent.addEventListener("keydown", (event) => {
      const target = event.target as Element;
      if (event.key === " " && (target === this.slider || !target.closest("button, input, select, summary, a"))) {
        event.preventDefault();
        this.toggle();
      }
    });
  }

  get position(): number {
    return Number(this.slider.value);
  }

  get last(): number {
    return Number(this.slider.max);
  }

  /** tell shows a sentence in place of the verdict. */
  tell(badge: string, line: string): void {
    this.verdict.tell(badge, line);
  }

  /** say shows a sentence beside the verdict's badge. */
  say(line: string): void {
    this.verdict.line.textContent = line;
  }

  /** show shows a scene; fresh says that it is of another program than the one before. */
  show(scene: Scene, fresh: boolean): void {
    const wasLast = !fresh && this.scene !== undefined && this.position === this.last && this.last > 0;
    const before = this.position;
    this.scene = scene;
    this.states = new States(scene);
    this.verdict.show(scene);
    this.slider.max = `${scene.frames.length}`;
    this.machine = new MachineView(this.machineAt, scene);
    this.table = new Table(this.tableAt, scene);
    this.drawTimeline(scene.timeline, scene);
    this.drawLevels(scene);
    this.showFault(scene);
    for (const part of [".controls", "#view-machine", "#view-table"]) {
      this.parent.querySelector(part)?.toggleAttribute("hidden", scene.kind === "" || scene.columns.length === 0);
    }
    const fault = scene.fault ? `${scene.fault.kind} ${scene.fault.text}` : "";
    let position = fresh ? 1 : wasLast ? this.last : before;
    if (fault !== "" && (fresh || fault !== this.faultShown)) {
      position = scene.fault?.frame ?? position;
    }
    this.faultShown = fault;
    this.slider.value = `${Math.min(Math.max(position, 0), this.last)}`;
    this.shown();
  }

  /** showTrace shows the timeline of a real run. */
  showTrace(timeline: Timeline, name: string): void {
    this.pause();
    this.verdict.tell("Trace", `${name}: ${timeline.title || "a run"}`);
    this.fault.replaceChildren();
    for (const part of [".controls", ".level-key", ".ops", "#view-machine", "#view-table"]) {
      this.parent.querySelector(part)?.setAttribute("hidden", "");
    }
    this.drawTimeline(timeline, undefined);
    this.scene = undefined;
  }

  private drawTimeline(timeline: Timeline | null, scene: Scene | undefined): void {
    if (timeline && timeline.rows.length > 0) {
      this.timeline = new TimelineView(this.timelineAt, timeline, scene, (frame, at) => {
        if (frame >= 0) {
          this.step(frame + 1);
        }
        this.listener.go(at);
      });
    } else {
      this.timeline = undefined;
      const why = scene?.machine.problem || scene?.notes.join(" ") || "";
      this.timelineAt.replaceChildren(el("p", { class: "caption" }, `Nothing was simulated${why ? `: ${why}` : "."}`));
    }
  }

  private drawLevels(scene: Scene): void {
    const used = new Set(scene.ops.map((op) => op.level));
    this.levels.replaceChildren();
    this.levelKey.hidden = !used.has("network");
    if (!used.has("network") || scene.frames.length > 400) {
      return;
    }
    for (const frame of scene.frames) {
      const levels = new Set(frame.ops.map((o) => scene.ops[o]?.level ?? ""));
      const classes = Object.keys(LEVELS).filter((l) => levels.has(l)).map((l) => `level-${l}`);
      this.levels.append(el("i", { class: classes.join(" ") }));
    }
  }

  private showFault(scene: Scene): void {
    if (!scene.fault || (scene.fault.steps.length === 0 && scene.fault.history.length === 0)) {
      this.fault.replaceChildren();
      return;
    }
    this.fault.replaceChildren(drawFault(scene, scene.fault, (frame, at) => {
      if (frame >= 0) {
        this.step(frame);
      }
      this.listener.go(at);
    }));
    this.machine?.alarm(scene.fault.steps.map((step) => step.rank));
  }

  /** step goes to a position, and shows how the chunks get there if it is the next one. */
  step(to: number): void {
    const next = Math.min(Math.max(to, 0), this.last);
    const forward = next === this.position + 1;
    this.slider.value = `${next}`;
    this.shown(forward);
  }

  private shown(moving = false): void {
    const { scene, states } = this;
    if (!scene || !states) {
      return;
    }
    const position = this.position;
    const frame = position - 1;
    states.go(Math.max(frame, 0));
    this.machine?.show(frame, states);
    if (moving && !still()) {
      this.machine?.fly(this.pace * 0.8);
    }
    states.go(position);
    const fault = scene.fault?.chunk && scene.fault.frame === position ? scene.fault.chunk : undefined;
    this.table?.show(states, position === this.last, fault);
    this.timeline?.show(frame);
    const ops = (scene.frames[frame]?.ops ?? []).map((o) => scene.ops[o]).filter((op) => op !== undefined);
    this.write(position, ops);
    this.listener.step(ops);
  }

  private write(position: number, ops: readonly Op[]): void {
    const scene = this.scene;
    if (!scene) {
      return;
    }
    this.count.textContent = `${position} / ${this.last}`;
    const says = ops.slice(0, TOLD).map((op) => sayOp(scene, op));
    const more = ops.length > TOLD ? `, and ${ops.length - TOLD} more` : "";
    const what = position === 0 ? "the start" : `${says.join("; ")}${more}`;
    this.slider.setAttribute("aria-valuetext", `Step ${position} of ${this.last}: ${what}`);
    this.ops.replaceChildren(...ops.slice(0, TOLD).map((op) => {
      const button = el("button", { type: "button", class: "plain", title: op.where.join(", ") },
        el("code", {}, sayOp(scene, op)),
        ` ${atText(scene, op.at)}${op.where[0] ? `, ${op.where[0].replace(/^where /, "")}` : ""}`);
      button.addEventListener("click", () => this.listener.go(op.at));
      return el("li", { class: `level-${op.level}` }, button);
    }));
    if (ops.length > TOLD) {
      this.ops.append(el("li", {}, `and ${ops.length - TOLD} more`));
    }
    if (position === 0) {
      this.ops.append(el("li", {}, "Each rank has its input."));
    }
  }

  private get pace(): number {
    return Math.max(150, Math.min(800, 30_000 / Math.max(this.last, 1)));
  }

  /** toggle plays, or pauses. */
  toggle(): void {
    if (this.timer !== 0) {
      this.pause();
      return;
    }
    this.step(this.position === this.last ? 0 : this.position + 1);
    this.timer = window.setInterval(() => {
      this.step(this.position + 1);
      if (this.position === this.last) {
        this.pause();
      }
    }, this.pace);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-pressed", "true");
  }

  pause(): void {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-pressed", "false");
  }
}

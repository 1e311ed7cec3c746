// The verdict, in the command's own words, and what the call costs.
import { el } from "./dom";
import { Scene } from "./scene";
import { us } from "./timeline";

const BADGES: Record<string, string> = {
  proven: "Proven", rejected: "Rejected", unproven: "Not proven", nothing: "Library",
};

// rows are the figures: a name, a value and what it means.
function rows(scene: Scene): [string, string, string][] {
  const f = scene.figures;
  if (!f) {
    return [];
  }
  const share = f.of_bound === null ? "not known" : `${Math.round(f.of_bound * 100)} %`;
  const cut = f.cut ? `; they are limited by ${f.cut}` : "";
  const bound = f.bound_us === null ? "" : `the links allow ${us(f.bound_us)}${cut}`;
  return [
    ["Latency", us(f.latency_us), `simulated, on ${scene.machine.name}`],
    ["Bandwidth", `${f.algbw_gbs.toFixed(1)} GB/s`, "of the algorithm: bytes over time"],
    ["Bus bandwidth", `${f.busbw_gbs.toFixed(1)} GB/s`, "as nccl-tests has it"],
    ["Share of the bound", share, bound],
    ["Busiest link", f.link < 0 ? "none" : `${Math.round(f.occupied * 100)} %`, f.linkName],
  ];
}

export class VerdictView {
  private readonly badge = el("b", { class: "badge" }, "Starting");
  readonly line = el("span", { class: "line" }, "The prover is starting.");
  private readonly figures = el("dl", { class: "figures" });
  private readonly text = el("pre", { class: "problems", tabindex: 0, hidden: true, "aria-label": "Problems" });
  private readonly notes = el("p", { class: "notes" });

  constructor(parent: HTMLElement) {
    const status = el("div", { class: "verdict", role: "status", "aria-live": "polite", id: "verdict" },
      this.badge, this.line);
    parent.append(status, this.figures, this.text, this.notes);
  }

  // caveat returns the sentence about costs that are estimates.
  private caveat(scene: Scene): string[] {
    return scene.figures?.caveat ? [`The time is simulated${scene.figures.caveat}.`] : [];
  }

  private say(state: string, badge: string, line: string): void {
    this.badge.textContent = badge;
    this.badge.className = `badge ${state}`;
    this.line.textContent = line;
  }

  /** show replaces everything by what is known of scene. */
  show(scene: Scene): void {
    const { verdict } = scene;
    this.say(verdict.state, BADGES[verdict.state] ?? verdict.state, verdict.line.replace(/ {2,}/g, "  "));
    this.text.textContent = verdict.text.trimEnd();
    this.text.hidden = verdict.text === "";
    this.figures.replaceChildren(...rows(scene).map(([name, value, means]) =>
      el("div", { title: means }, el("dt", {}, name), el("dd", {}, value))));
    this.notes.textContent = [...scene.notes, ...this.caveat(scene)].join(" ");
  }

  /** tell says something that is not the verdict of a scene. */
  tell(badge: string, line: string): void {
    this.say("unproven", badge, line);
    this.text.hidden = true;
    this.figures.replaceChildren();
    this.notes.textContent = "";
  }
}

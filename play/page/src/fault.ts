// Why a program is rejected, drawn: the cycle of waits of a deadlock, the two steps of a race and the signal that is
// missing, or how a wrong chunk came to hold what it holds.
import { el, svg } from "./dom";
import { Scene, Span } from "./scene";
import { Fault, FaultStep } from "./scene_fault";
import { atText, colour, nameOf } from "./state";

/** A Jump shows a position of the slider and a line; -1 and 0 leave them as they are. */
export type Jump = (frame: number, at: Span) => void;

// titleOf returns the two lines of a step's name: its block, and which step of that.
function titleOf(step: FaultStep): [string, string] {
  const found = /^(rank \d+ block \d+) (.+)$/.exec(step.name);
  return found ? [found[1] ?? "", found[2] ?? ""] : [`rank ${step.rank} block ${step.block}`, `step ${step.step}`];
}

// card shows a step of a fault, and jumps to it.
function card(scene: Scene, step: FaultStep, jump: Jump): HTMLElement {
  const button = el("button", { type: "button", class: "step lit" },
    el("b", {}, titleOf(step).join(" ")), el("code", {}, step.text),
    el("small", {}, [step.role, step.at.line > 0 ? atText(scene, step.at) : ""].filter(Boolean).join(", ")));
  button.style.setProperty("--rank", colour(step.rank, scene.collective.ranks));
  button.addEventListener("click", () => jump(step.frame, step.at));
  return button;
}

interface Point {
  x: number;
  y: number;
}

const BOX = { x: 80, y: 24 }; // half of a step's box, with room for the head of an arrow

// arrow draws an arrow that bends to the middle, and what it means. It ends at the edge of the box around to.
function arrow(from: Point | undefined, to: Point | undefined, middle: Point, means: string): SVGElement[] {
  if (!from || !to || from === to) {
    return [];
  }
  const half = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const bend = { x: half.x + (middle.x - half.x) * 0.2, y: half.y + (middle.y - half.y) * 0.2 };
  const away = { x: bend.x - to.x, y: bend.y - to.y };
  const part = Math.min(BOX.x / Math.max(Math.abs(away.x), 1e-9), BOX.y / Math.max(Math.abs(away.y), 1e-9), 1);
  const end = { x: to.x + away.x * part, y: to.y + away.y * part };
  const behind = means === "comes after";
  return [
    svg("path", {
      d: `M${from.x} ${from.y}Q${bend.x} ${bend.y} ${end.x} ${end.y}`, class: behind ? "wait behind" : "wait",
      "marker-end": "url(#arrow)",
    }),
    svg("text", { x: bend.x, y: bend.y + 4, class: "wait-text" }, behind ? means : `waits for ${means}`),
  ];
}

// cycle draws the waits of a deadlock: each step on a circle, and an arrow to the step whose end it waits for.
function cycle(scene: Scene, fault: Fault): SVGSVGElement {
  const width = 560;
  const height = Math.max(220, Math.min(420, 90 + 46 * fault.steps.length));
  const middle = { x: width / 2, y: height / 2 };
  const places = fault.steps.map((_, i) => {
    const angle = (2 * Math.PI * i) / fault.steps.length - Math.PI / 2;
    return { x: middle.x + Math.cos(angle) * width * 0.35, y: middle.y + Math.sin(angle) * (height / 2 - 30) };
  });
  const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "cycle", role: "img",
    "aria-label": `A cycle of waits: ${fault.waits.map((wait) => wait.text).join("; ")}` },
    svg("defs", {}, svg("marker", {
      id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8,
      orient: "auto-start-reverse",
    }, svg("path", { d: "M0 0L10 5L0 10z", class: "arrow" }))));
  for (const wait of fault.waits) {
    image.append(...arrow(places[wait.step], places[wait.on], middle, wait.cause),
      ...arrow(places[wait.on], places[wait.at], middle, "comes after"));
  }
  fault.steps.forEach((step, i) => {
    const place = places[i] ?? { x: 0, y: 0 };
    const box = svg("rect", { x: -76, y: -20, width: 152, height: 40, rx: 8, class: "wait-box" });
    box.style.stroke = colour(step.rank, scene.collective.ranks);
    image.append(svg("g", { transform: `translate(${place.x} ${place.y})` }, box,
      svg("text", { y: -4, class: "wait-name" }, titleOf(step)[0]),
      svg("text", { y: 12 }, titleOf(step)[1]), svg("title", {}, step.text)));
  });
  return image;
}

const STATES: Record<string, string> = { stands: "stands here", "waits behind": "waits behind it" };

function blocks(scene: Scene, fault: Fault): HTMLElement {
  const group = el("div", { class: "blocks", tabindex: 0, role: "group", "aria-label": "Thread blocks, scrolls" });
  for (const block of fault.blocks) {
    const list = el("ol", { start: block.steps[0]?.step ?? 0 });
    for (const step of block.steps) {
      const state = STATES[step.state] ?? "";
      list.append(el("li", { class: `${step.lit ? "lit " : ""}${step.state.replaceAll(" ", "-")}`, value: step.step },
        el("code", {}, step.text), state ? el("small", {}, ` ${state}`) : ""));
    }
    const head = el("h3", {}, el("i", { class: "rank" }), block.name || `rank ${block.rank}, block ${block.block}`);
    head.style.setProperty("--rank", colour(block.rank, scene.collective.ranks));
    group.append(el("section", {}, head, list));
  }
  return group;
}

function history(scene: Scene, fault: Fault, jump: Jump): HTMLElement {
  const list = el("ol", { class: "history" });
  for (const event of fault.history) {
    const button = el("button", { type: "button" }, el("b", {}, atText(scene, event.at)), " ",
      el("code", {}, `${event.writes} = ${event.reads.join(" + ")}`), event.overwritten ? " (overwritten later)" : "",
      el("small", {}, [event.where.join(", "), `leaves ${event.holds}`].filter(Boolean).join("; ")));
    button.addEventListener("click", () => jump(event.frame + 1, event.at));
    list.append(el("li", {}, button));
  }
  if (fault.cut) {
    list.append(el("li", {}, "and more"));
  }
  return list;
}

/** drawFault returns what a fault looks like. */
export function drawFault(scene: Scene, fault: Fault, jump: Jump): HTMLElement {
  const titles: Record<string, string> = {
    deadlock: "These steps wait for each other", race: "Two steps race for a chunk",
    "wrong-result": "A chunk ends wrong",
    uninitialized: "A chunk is read before it is written",
  };
  const chunk = fault.chunk ? nameOf(scene, fault.chunk, 1) : "";
  const out = el("section", { class: `fault ${fault.kind}`, "aria-label": "Why it is rejected" },
    el("h2", {}, [titles[fault.kind] ?? "It is rejected", chunk].filter(Boolean).join(": ")));
  if (fault.kind === "deadlock" && fault.steps.length > 0) {
    out.append(cycle(scene, fault));
    const list = el("ol", { class: "waits" });
    fault.waits.forEach((wait) => list.append(el("li", {}, wait.text)));
    out.append(list);
  }
  if (fault.steps.length > 0) {
    const pair = el("div", { class: "pair" }, ...fault.steps.map((step) => card(scene, step, jump)));
    if (fault.missing) {
      pair.append(el("p", { class: "missing" }, el("b", {}, "Missing: "), fault.missing));
    }
    out.append(pair);
  }
  if (fault.holds || fault.must) {
    out.append(el("dl", { class: "wants" }, el("dt", {}, "holds"), el("dd", {}, fault.holds || "nothing"),
      el("dt", {}, "must hold"), el("dd", {}, fault.must)));
  }
  if (fault.history.length > 0) {
    out.append(el("h3", {}, "How it came to hold that"), history(scene, fault, jump));
  }
  if (fault.blocks.length > 0) {
    out.append(el("details", {}, el("summary", {}, "The thread blocks"),
      blocks(scene, fault)));
  }
  return out;
}

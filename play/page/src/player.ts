// The page that mscclc show --html writes: the same views of one scene, which is in the file.
import { byId, el } from "./dom";
import { Op, Scene, Span } from "./scene";
import { linesOf } from "./state";
import { switchBy } from "./theme";
import { Player } from "./view";

// A Source is the program's text, with the lines of the step lit.
class Source {
  private readonly lines: HTMLElement[];

  constructor(parent: HTMLElement, text: string) {
    const list = el("ol", { class: "source", tabindex: 0, "aria-label": "The program" });
    this.lines = text.trimEnd().split("\n").map((line) => el("li", {}, el("code", {}, line || " ")));
    list.append(...this.lines);
    parent.append(list);
  }

  mark(scene: Scene, ops: readonly Op[]): void {
    const lines = linesOf(scene, ops);
    this.lines.forEach((line, i) => {
      line.classList.toggle("line-step", lines.get(i + 1) === "step");
      line.classList.toggle("line-bad", lines.get(i + 1) === "bad");
    });
  }

  go(at: Span): void {
    this.lines[at.line - 1]?.scrollIntoView({ block: "center" });
  }
}

function main(): void {
  switchBy(byId("theme"));
  const scene = JSON.parse(byId("mscclc-scene").textContent ?? "") as Scene;
  document.title = `${scene.name}: mscclc`;
  byId("name").textContent = scene.name;
  let source: Source | undefined;
  if (scene.text) {
    source = new Source(byId("left"), scene.text);
  } else {
    byId("left").remove();
  }
  const player = new Player(byId("right"), {
    step: (ops) => source?.mark(scene, ops),
    go: (at) => source?.go(at),
  });
  player.show(scene, true);
}

main();

// What chunks hold at a position of the slider, and how things are named and coloured.
import { Content, Op, Ref, Scene, Span } from "./scene";

/** States plays the frames of a scene. */
export class States {
  private readonly cells: Int32Array; // by rank and column: a content, or -1
  private readonly op: Int32Array; // the operation that wrote it last in the frame before, or -1
  private position = -1;

  constructor(readonly scene: Scene) {
    this.cells = new Int32Array(scene.collective.ranks * scene.columns.length);
    this.op = new Int32Array(this.cells.length);
    this.go(0);
  }

  /** go moves to a position: what there was before frame number position. */
  go(position: number): void {
    const scene = this.scene;
    const width = scene.columns.length;
    if (this.position < 0 || position < this.position) {
      this.cells.fill(-1);
      for (const holds of scene.start) {
        this.cells[holds.rank * width + holds.column] = holds.content;
      }
      this.position = 0;
    }
    this.op.fill(-1);
    for (; this.position < position; this.position++) {
      for (const write of scene.frames[this.position]?.writes ?? []) {
        this.cells[write.rank * width + write.column] = write.content;
        if (this.position === position - 1) {
          this.op[write.rank * width + write.column] = write.op;
        }
      }
    }
    if (position > 0) { // also where nothing had to be played
      for (const write of scene.frames[position - 1]?.writes ?? []) {
        this.op[write.rank * width + write.column] = write.op;
      }
    }
  }

  /** holds returns what a chunk holds, or undefined. */
  holds(rank: number, column: number): Content | undefined {
    return this.scene.contents[this.cells[rank * this.scene.columns.length + column] ?? -1];
  }

  /** written reports whether the frame before the position wrote a chunk. */
  written(rank: number, column: number): boolean {
    return (this.op[rank * this.scene.columns.length + column] ?? -1) >= 0;
  }
}

/** colour returns the colour of a rank. Beyond twelve, neighbours differ in lightness, too. */
export function colour(rank: number, ranks: number): string {
  const light = ranks > 12 && rank % 2 === 1 ? 0.8 : 0.7;
  return `oklch(${light} 0.14 ${Math.round((rank * 360) / Math.max(ranks, 1) + 25) % 360})`;
}

/** ranksOf returns the ranks whose inputs a content has, each once. */
export function ranksOf(content: Content): number[] {
  return [...new Set(content.parts.map(([rank]) => rank))];
}

/** nameOf says a run of chunks as the language does: 2:output[1]. */
export function nameOf(scene: Scene, ref: Ref, count: number): string {
  const buffer = scene.buffers[ref.buffer]?.name ?? "?";
  const index = count > 1 ? `${ref.index}..${ref.index + count}` : `${ref.index}`;
  return `${ref.rank}:${buffer}[${index}]`;
}

/** sayOp says what an operation does. */
export function sayOp(scene: Scene, op: Op): string {
  const list = (refs: Ref[], joint: string): string => refs.map((ref) => nameOf(scene, ref, op.count)).join(joint);
  return op.kind === "copy"
    ? `${list(op.to, ", ")} = ${list(op.from, "")}`
    : `${list(op.to, ", ")} = ${list(op.from, " + ")}`;
}

/** LEVELS says where operations move data, by Op.level. */
export const LEVELS: Record<string, string> = {
  rank: "within a rank", node: "within a node", network: "between nodes",
};

/** atText says where a span is: the line, and the file if it is not the scene's. */
export function atText(scene: Scene, at: Span): string {
  return at.file === scene.name || at.file === "" ? `line ${at.line}` : `${at.file}:${at.line}`;
}

// callOf returns the line of the scene's own file from which an operation of another file was called, or 0. Where has
// it as text.
function callOf(scene: Scene, op: Op): number {
  const before = `${scene.name}:`;
  for (const text of op.where) {
    const at = text.lastIndexOf(before);
    if (at >= 0) {
      return parseInt(text.slice(at + before.length), 10) || 0;
    }
  }
  return 0;
}

/** linesOf returns the lines of the scene's file that operations and the fault are about. */
export function linesOf(scene: Scene, ops: readonly Op[]): Map<number, "step" | "bad"> {
  const lines = new Map<number, "step" | "bad">();
  const add = (at: Span, kind: "step" | "bad"): void => {
    if (at.line > 0 && at.file === scene.name) {
      lines.set(at.line, kind);
    }
  };
  for (const op of ops) {
    add(op.at, "step");
    const call = callOf(scene, op);
    if (call > 0) {
      lines.set(call, "step");
    }
  }
  const { fault } = scene;
  for (const part of fault ? [...fault.history, ...fault.steps, fault] : []) {
    add(part.at, "bad");
  }
  return lines;
}

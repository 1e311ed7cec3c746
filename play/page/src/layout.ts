// Where the vertices of a machine are drawn: a box for each node, with its GPUs on a circle, switches within it and
// NICs at the foot. What is of no node stands between the rows of boxes.
import { Machine, Scene } from "./scene";

export interface Place {
  x: number;
  y: number;
  r: number; // of the circle or the square
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  node: number;
}

export interface Layout {
  places: Map<number, Place>; // by vertex; what is not in it is not drawn
  boxes: Box[];
  width: number;
  height: number;
}

const MOST = 600; // vertices that are drawn; of more, only those that the program uses

/** used returns the vertices that ranks and paths of a scene use. */
export function used(machine: Machine): Set<number> {
  const found = new Set(machine.seats);
  for (const path of machine.paths) {
    for (const index of path.links) {
      const link = machine.links[index];
      if (link) {
        found.add(link.from).add(link.to);
      }
    }
  }
  return found;
}

// row spreads vertices evenly over a line.
function row(places: Map<number, Place>, list: number[], x: number, y: number, width: number, most: number): void {
  const r = Math.min(most, (width / Math.max(list.length, 1)) * 0.36);
  list.forEach((vertex, i) => places.set(vertex, { x: x + (width * (i + 0.5)) / list.length, y, r }));
}

// node places the vertices of one node into a box whose corner is (x, y).
function node(
  places: Map<number, Place>, machine: Machine, list: number[], x: number, y: number, size: number,
): number {
  const of = (kind: string): number[] => list.filter((v) => machine.vertices[v]?.kind === kind);
  const gpus = of("gpu");
  const nics = of("nic");
  const ring = size * 0.39;
  const r = Math.min(size * 0.068, gpus.length > 1 ? ring * Math.sin(Math.PI / gpus.length) * 0.72 : size * 0.068);
  const middle = { x: x + size / 2, y: y + size / 2 };
  gpus.forEach((vertex, i) => {
    const angle = (2 * Math.PI * i) / gpus.length - Math.PI / 2;
    const far = gpus.length > 1 ? ring : 0;
    places.set(vertex, { x: middle.x + far * Math.cos(angle), y: middle.y + far * Math.sin(angle), r });
  });
  const groups = new Map<string, number[]>();
  for (const vertex of of("switch")) {
    const group = machine.vertices[vertex]?.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), vertex]);
  }
  const lines = [...groups.values()];
  lines.forEach((line, i) => {
    const down = lines.length > 1 ? (i / (lines.length - 1) - 0.5) * ring * 0.8 : 0;
    row(places, line, middle.x - ring * 0.6, middle.y + down, ring * 1.2, size * 0.04);
  });
  if (nics.length > 0) {
    row(places, nics, x + size * 0.05, y + size * 1.02, size * 0.9, size * 0.035);
  }
  return size * (nics.length > 0 ? 1.1 : 1);
}

/** layout places the machine of a scene; where it has no seats, it places the ranks alone, as vertices. */
export function layout(scene: Scene): Layout {
  const { machine } = scene;
  const needed = used(machine);
  const shown = machine.vertices.map((_, i) => i)
    .filter((i) => machine.vertices.length <= MOST || needed.has(i));
  const nodes = [...new Set(shown.map((i) => machine.vertices[i]?.node ?? -1))].filter((n) => n >= 0)
    .sort((a, b) => a - b);
  const between = nodes.length > 1 ? shown.filter((i) => (machine.vertices[i]?.node ?? -1) < 0) : [];
  const columns = nodes.length <= 3 ? Math.max(nodes.length, 1) : Math.ceil(Math.sqrt(nodes.length));
  const size = 300 / Math.max(1, Math.sqrt(columns) * 0.8);
  const gap = 16;
  const places = new Map<number, Place>();
  const boxes: Box[] = [];
  const groups = [...new Set(between.map((v) => machine.vertices[v]?.group ?? ""))];
  const top = groups.length * 44;
  let height = size;
  nodes.forEach((n, i) => {
    const x = (i % columns) * (size + gap) + gap;
    const y = Math.floor(i / columns) * (height + gap) + gap + top;
    height = node(places, machine, shown.filter((v) => machine.vertices[v]?.node === n), x, y, size);
    boxes.push({ x, y, width: size, height, node: n });
  });
  const width = columns * (size + gap) + gap;
  groups.forEach((group, i) => { // the highest level of the network stands at the top
    const list = between.filter((v) => machine.vertices[v]?.group === group);
    row(places, list, gap, 24 + (groups.length - 1 - i) * 44, width - 2 * gap, 13);
  });
  const rows = Math.ceil(nodes.length / columns);
  return { places, boxes, width, height: rows * (height + gap) + gap + top };
}

/** alone returns a machine that is only the ranks of a program, for one that has no room for them. */
export function alone(scene: Scene): Scene {
  const { ranks, nodeOf } = scene.collective;
  const vertices = Array.from({ length: ranks }, (_, rank) => (
    { kind: "gpu", group: "rank", node: nodeOf[rank] ?? 0, index: rank, rank, name: `rank ${rank}` }));
  return { ...scene, machine: { ...scene.machine, vertices, links: [], paths: [], seats: vertices.map((_, i) => i) } };
}

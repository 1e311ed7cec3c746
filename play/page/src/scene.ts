// What the prover says of a text: the JSON of package play, whose Go types have the same names and fields.
import { Fault } from "./scene_fault";

/** A Scene is all that the page shows of one text. Ranks, vertices, links, operations and frames are numbered from 0
 * and index the lists that have them; -1 is none. Lists are never null. Times are in microseconds, sizes in bytes and
 * bandwidths in GB/s (1e9 bytes a second). */
export interface Scene {
  schema: number;
  name: string; // of the file or of the program of the catalog
  text: string; // of the file; "" of one that is binary
  kind: string; // chunks, channels, two-sided, one-sided or library; none where the text has no program
  verdict: Verdict;
  params: Param[]; // of the file, with their values
  protocol: string;
  sided: string; // two or one: how the timeline's program is compiled
  collective: Collective;
  buffers: Buffer[];
  columns: Column[]; // of the table, the same for all ranks
  contents: Content[]; // that chunks have; others refer to them by index
  start: Holds[]; // before the first frame; chunks that are not listed hold nothing
  ops: Op[];
  frames: Frame[];
  wrong: Wrong[]; // chunks of outputs that end wrong, at most 64
  machine: Machine;
  timeline: Timeline | null; // null where nothing was simulated
  figures: Figures | null; // null where nothing was simulated
  fault: Fault | null; // null where nothing rejects the program
  notes: string[]; // what the reader must know, such as what is left out, a sentence each
}

/** A Verdict says whether the program is right. */
export interface Verdict {
  state: string; // proven, rejected, unproven (valid, but not proven here) or nothing (a library)
  line: string; // one line, as verify prints it: "ok    NAME    proven: ..." or "FAIL  NAME    1 problem: race"
  text: string; // the diagnostics as verify prints them, "" where there are none
  problems: Problem[];
}

/** A Problem is a diagnostic. */
export interface Problem {
  code: string;
  warning: boolean;
  text: string;
  hint: string;
  at: Span;
  notes: Note[];
}

/** A Note is a second source position of a problem. */
export interface Note {
  text: string;
  at: Span;
}

/** A Span is a run of bytes on a line of a file. Line and Column count from 1; Line 0 is no position. */
export interface Span {
  file: string;
  line: number;
  column: number; // in bytes
  length: number; // in bytes
}

/** A Param is a parameter of the file. */
export interface Param {
  name: string;
  value: string;
  default: string;
  given: boolean; // by the request, or to get fewer ranks
}

/** A Collective is what the program must do. */
export interface Collective {
  kind: string; // allreduce, allgather, ...
  ranks: number;
  root: number; // -1 where the kind has none
  inPlace: boolean; // input and output are one memory
  nodes: number;
  nodeOf: number[]; // by rank
}

/** A Buffer is a buffer that ranks have. */
export interface Buffer {
  name: string; // input, output or the name of a scratch buffer
  chunks: number[]; // by rank
}

/** A Column is a chunk of each rank. In place, input and output share columns, and Buffer is the larger of the two.
 * */
export interface Column {
  buffer: number;
  index: number;
}

/** A Content is what a chunk may hold: the sum of parts, one part for a copy of an input. */
export interface Content {
  text: string; // short, for a cell: "1:0" is chunk 0 of rank 1's input, "0–2:0" a sum over ranks 0 to 2
  says: string; // as ir/eval says it: "the sum of in[r][0] of ranks 0-2"
  parts: [number, number][]; // rank and index of an input, sorted by index and rank, at most 256
  size: number; // how many parts there are, counted as often as they occur
}

/** A Holds says what a chunk holds. */
export interface Holds {
  rank: number;
  column: number;
  content: number;
}

/** A Ref is a run of chunks of a rank. */
export interface Ref {
  rank: number;
  buffer: number;
  index: number;
  column: number; // of the first chunk; the others have the next columns
}

/** An Op writes a copy of its one source, or the sum of its sources, to each of its destinations. */
export interface Op {
  kind: string; // copy or reduce
  count: number; // chunks of each source and destination
  from: Ref[];
  to: Ref[];
  level: string; // rank: within a rank; node: within a node; network: between nodes
  paths: number[]; // indices in Machine.Paths: what moves over links, one for each pair of ranks
  at: Span;
  where: string[]; // values of loops, and calls: "r = 2", one a loop or call, the innermost first
  frame: number;
}

/** A Frame is what happens between two positions of the slider. Position 0 is the start, and position k+1 is after
 * frame k. The operations of a frame read what was there before the frame. */
export interface Frame {
  ops: number[];
  writes: Write[]; // all that changes in the table
  begin_us: number | null; // of its operations in the simulated call's first tile iteration; null if not known
  end_us: number | null;
}

/** A Write is a chunk that an operation of a frame writes. */
export interface Write {
  rank: number;
  column: number;
  content: number; // -1: what it wrote holds nothing
  op: number;
}

/** A Wrong is a chunk of an output that ends wrong. */
export interface Wrong {
  rank: number;
  column: number;
  index: number; // of the output
  mark: string; // "-" lacks inputs, "+" has some twice, "x" holds others, "0" holds nothing
  text: string;
}

/** A Machine is what the program runs on. */
export interface Machine {
  spec: string; // as it was asked for: h200, dgx_h100:nodes=2, or the name of the .topo text
  name: string;
  doc: string;
  device: string;
  nodes: number;
  gpus: number; // of a node
  vertices: Vertex[];
  links: Link[];
  seats: number[]; // by rank: its vertex; empty where the machine has no room
  paths: Path[]; // between ranks that operations join
  problem: string; // why there is no machine, or no room on it; "" where all is well
}

/** A Vertex is a GPU, a NIC or a switch. */
export interface Vertex {
  kind: string; // gpu, nic or switch
  group: string; // its name in the .topo text
  node: number; // -1: of no node
  index: number; // in its group, of its node
  rank: number; // that runs on it, or -1
  name: string; // as reports have it: "node 0 gpu[3]"
}

/** A Link is one direction of a link. */
export interface Link {
  from: number; // vertices
  to: number;
  class: string;
  width: number; // links of the class side by side
  gbs: number; // of all of them
  latency_us: number;
  network: boolean; // between nodes
}

/** A Path is the links from one rank to another, in order. */
export interface Path {
  from: number; // ranks
  to: number;
  links: number[];
}

/** A Timeline is when the steps of a call ran, simulated or traced. */
export interface Timeline {
  source: string; // simulation or trace
  title: string;
  launch_us: number; // from the call's begin to time 0 of the spans
  end_us: number; // of the last span shown
  iterations: number; // tile iterations that have spans
  of: number; // that the call has
  replicas: number; // that a row stands for; 0 is not known
  rows: Row[];
  looks: string[]; // what spans are: "copy over nvlink", "reduce in the GPU", "signal", "wait"
  spans: TimeSpan[]; // in the order of their begins
  steps: Step[]; // that spans are of
  links: Busy[]; // how long links were occupied, the busiest first; empty for a trace
}

/** A Row is a thread block, or in a trace of several nodes the messages to or from a rank. */
export interface Row {
  rank: number;
  block: number; // of the rank, -1 for messages
  name: string;
}

/** A TimeSpan is one step in one tile iteration. */
export interface TimeSpan {
  row: number;
  step: number; // of Timeline.Steps
  look: number;
  iteration: number;
  begin_us: number; // when its block came to it
  waited_us: number; // of the length, before it had all that it waits for
  length_us: number;
}

/** A Step is a step of a thread block. */
export interface Step {
  rank: number;
  block: number;
  step: number; // within the block
  name: string; // as messages have it: "rank 0 block 1 step 2 (s)"
  text: string; // what it does
  op: number; // the operation that it is a part of, or -1
  frame: number; // of that operation, or -1
  at: Span;
}

/** A Busy says how long a link was occupied. */
export interface Busy {
  link: number;
  us: number;
  share: number; // of the call's time, from 0 to 1
}

/** Figures are what a call costs, as mscclc simulate prints them. */
export interface Figures {
  bytes: number;
  dtype: string;
  latency_us: number;
  algbw_gbs: number;
  busbw_gbs: number;
  bound_us: number | null; // the least time that the links allow; null if it is not known
  of_bound: number | null; // Bound / Latency
  cut: string; // the links that limit it
  link: number; // the busiest, or -1
  linkName: string;
  occupied: number; // the part of the time that it was, from 0 to 1
  caveat: string; // where the device's costs are estimates
  text: string; // one line of all that
}

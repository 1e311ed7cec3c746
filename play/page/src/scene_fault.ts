// Why a program is rejected: the part of a scene whose Go types are in play/scene_fault.go.
import { Ref, Span, Step } from "./scene";

/** A Fault shows why a program is rejected: its first problem with a counterexample, or its first problem. */
export interface Fault {
  kind: string; // deadlock, race, wrong-result, uninitialized or other
  code: string;
  text: string; // the problem's
  hint: string;
  at: Span;
  steps: FaultStep[];
  waits: Wait[]; // of a deadlock: Waits[i].Step waits for Waits[i].On, whose block stands at Waits[i].At
  missing: string; // of a race: which signal, flag or message is missing
  chunk: Ref | null; // that the accesses race for, or that is wrong; null for a deadlock
  holds: string; // of a wrong result: what the chunk holds
  must: string; // and must hold
  history: ChunkEvent[]; // of a wrong result: operations that wrote what the chunk holds, in the file's order
  cut: boolean; // there are more
  blocks: Block[]; // the thread blocks of Steps and Waits, with their steps
  frame: number; // the slider's position that shows it; frames end there for a deadlock
}

/** A FaultStep is a step with the part that it has in the fault. */
export interface FaultStep extends Step {
  role: string; // waits, writes, reads, wrote
}

/** A Wait is a step that never begins or ends. Step, On and At index Fault.Steps. */
export interface Wait {
  step: number;
  cause: string; // step, message, slot or flag
  on: number; // what would end the wait, or -1
  at: number; // where the block of that step stands, or -1
  text: string;
}

/** An Event is an operation of a chunk's history, as mscclc trace-chunk tells it. */
export interface ChunkEvent {
  op: number; // of Scene.Ops
  frame: number;
  at: Span;
  writes: string; // "2:output[1]"
  reads: string[];
  where: string[];
  holds: string; // what it leaves
  overwritten: boolean;
}

/** A Block is a thread block of a fault, as text. */
export interface Block {
  rank: number;
  block: number;
  name: string;
  steps: BlockStep[]; // at most 64 around those that are lit
}

/** A BlockStep is a step of such a block. */
export interface BlockStep {
  step: number;
  text: string;
  state: string; // ran, stands or waits behind; "" where the program runs to its end
  lit: boolean;
  at: Span;
}

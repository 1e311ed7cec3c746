// The page: an editor on the left, and on the right what the program does, proven anew after each change.
import { byId, el } from "./dom";
import { Editor, Mark } from "./editor";
import { Engine, Stopped, moduleOf } from "./engine";
import { Opened, UNREADABLE, begin, pack, unpack } from "./open";
import { Catalog, Pickers } from "./pickers";
import { Op, Scene, Span, Timeline } from "./scene";
import { linesOf } from "./state";
import { switchBy } from "./theme";
import { askTopology, tools } from "./tools";
import { Player } from "./view";

const IDLE = 50; // ms after the last key
const SLOW = 2_000; // ms after which a run is stopped if there is a newer text
const LIMIT = 30_000; // ms after which a run is stopped
const FIRST = "allreduce/ring";
const HOME = "h200"; // the machine, where it has room

class App {
  private readonly editor: Editor;
  private readonly player: Player;
  private readonly engine: Engine;
  private pickers: Pickers | undefined;
  private filling = false; // the pickers
  private opened: Opened = {}; // choices, until there are pickers
  private name = FIRST; // of the document
  private timer = 0;
  private asked = 0; // scenes
  private fresh = true;
  private fitted = ""; // a machine that was chosen for the program, before there are pickers
  private word = ""; // what the reader must know of the link, until the next change
  private scene: Scene | undefined;

  constructor(private readonly module: WebAssembly.Module) {
    this.engine = new Engine(module, LIMIT);
    this.editor = new Editor(byId("editor"), "", () => this.edited());
    byId("pickers").addEventListener("input", () => { this.word = ""; }, true);
    this.player = new Player(byId("right"), {
      step: (ops) => this.mark(ops), go: (at) => this.isHere(at) && this.editor.show(at),
    });
  }

  /** open shows what a link or the command says, or the first program. */
  async open(opened: Opened): Promise<void> {
    const [first, ...imports] = opened.documents ?? [];
    this.word = opened.word ?? "";
    this.fitted = "";
    this.opened = first ? { ...opened, catalog: undefined } : { ...opened, catalog: opened.catalog ?? FIRST };
    this.stale();
    this.pickers?.set(this.opened);
    if (first) {
      this.show(first.name, first.text, imports);
    } else {
      await this.load(this.opened.catalog ?? FIRST, true);
    }
    if (opened.trace) {
      await this.openTrace(opened.trace.name, opened.trace.text);
    }
  }

  // fill fills the pickers. It comes after the first scene: the catalog takes the prover longer than that.
  private async fill(): Promise<void> {
    try {
      const catalog = await this.engine.request<Catalog>("mscclc/catalog", {});
      this.pickers = new Pickers(catalog, () => this.later(0), (name) => void this.load(name),
        () => void this.editMachine());
      this.pickers.set(this.opened);
      if (this.fitted) {
        this.pickers.fit(this.fitted);
      }
      this.pickers.showParams(this.scene?.params ?? []);
    } catch (error) {
      if (error instanceof Stopped) {
        await this.fill(); // a text that came meanwhile stopped it
      }
    }
  }

  private choices(): Opened {
    const all = this.pickers?.get() ?? {
      ...this.opened, sided: this.opened.sided ?? "one", machine: this.opened.machine ?? (this.fitted || undefined),
    };
    const { documents: _, catalog: __, trace: ___, word: ____, ...choices } = all;
    return choices;
  }

  private get uri(): string {
    return `file:///${this.name}${/\.(mscl|xml|json)$/.test(this.name) ? "" : ".mscl"}`;
  }

  // load shows a program of the catalog. keep keeps the parameters of a link.
  private async load(name: string, keep = false): Promise<void> {
    try {
      const { text } = await this.engine.request<{ text: string }>("mscclc/catalog", { name });
      if (!keep) {
        this.pickers?.forget();
      }
      this.show(name, text, []);
      this.opened.catalog = name;
      byId<HTMLSelectElement>("catalog").value = name;
    } catch (error) {
      if (name === FIRST || error instanceof Stopped) {
        this.player.tell("Failed", (error as Error).message);
        document.body.dataset.state = "failed";
        return;
      }
      this.word = `There is no program ${name} here: this is ${FIRST}`;
      this.opened = { ...this.opened, catalog: FIRST, params: undefined };
      await this.load(FIRST);
    }
  }

  // show puts a document into the editor.
  private show(name: string, text: string, imports: { name: string; text: string }[]): void {
    this.name = name;
    this.fresh = true;
    this.editor.open(text);
    this.engine.clear();
    for (const other of imports) {
      this.engine.set(`file:///${other.name}`, other.text);
    }
    this.later(0);
  }

  private edited(): void {
    this.word = "";
    if (this.pickers?.name ?? this.opened.catalog) {
      this.engine.clear();
      this.name = `${/^\s*import\b/m.test(this.editor.text) ? this.name.replace(/[^/]*$/, "") : ""}mine.mscl`;
    }
    delete this.opened.catalog;
    this.pickers?.own();
    this.later(IDLE);
  }

  // stale says that what is shown, and what is under way, is no longer what is chosen.
  private stale(): void {
    window.clearTimeout(this.timer);
    this.asked++;
    document.body.dataset.state = "waiting";
  }

  // later asks for the scene after some ms without a change.
  private later(ms: number): void {
    this.stale();
    this.timer = window.setTimeout(() => void this.ask(), ms);
  }

  private async ask(): Promise<void> {
    const number = ++this.asked;
    this.engine.stopIfSlow(SLOW);
    this.engine.set(this.uri, this.editor.text);
    try {
      const begun = performance.now();
      const asked = { textDocument: { uri: this.uri }, ...this.choices() };
      const scene = await this.engine.request<Scene>("mscclc/scene", asked);
      if (number === this.asked && !this.fits(scene)) {
        await this.ask();
      } else if (number === this.asked) {
        document.body.dataset.took = `${Math.round(performance.now() - begun)}`;
        this.showScene(scene);
      }
    } catch (error) {
      if (number !== this.asked) {
        return;
      }
      const why = error instanceof Stopped ? `${error.message}; mscclc verify proves it` : (error as Error).message;
      this.player.tell(error instanceof Stopped ? "Stopped" : "Failed", why);
      document.body.dataset.state = "failed";
    } finally {
      if (!this.pickers && !this.filling) {
        this.filling = true;
        void this.fill();
      }
    }
  }

  // fits reports whether the machine has room for the scene's program. If not, and nobody chose it, another is taken.
  private fits({ collective, machine }: Scene): boolean {
    const chosen = this.pickers?.byReader ?? (this.opened.machine ?? this.opened.topology) !== undefined;
    const now = this.pickers?.get().machine ?? (this.fitted || HOME);
    const nodes = Math.max(collective.nodes, Math.ceil(collective.ranks / 8));
    const next = nodes > 1 ? `dgx_h100:nodes=${nodes}` : HOME;
    if (chosen || collective.ranks === 0 || next === now || (machine.seats.length > 0 && now === HOME)) {
      return true;
    }
    this.fitted = next;
    this.pickers?.fit(next);
    return false;
  }

  private showScene(scene: Scene): void {
    this.scene = scene;
    this.pickers?.showParams(scene.params);
    this.editor.showProblems(scene.verdict.problems, (at) => this.isHere(at));
    this.player.show(scene, this.fresh);
    const said = this.pickers?.wrong || this.word;
    if (said) {
      this.player.say(said);
    }
    if (this.fresh) {
      this.editor.connect(this.module, this.uri);
    }
    this.fresh = false;
    document.body.dataset.state = "shown";
  }

  // isHere reports whether a span is of the document in the editor.
  private isHere(at: Span): boolean {
    return at.line > 0 && (at.file === "" || `file:///${at.file}` === this.uri);
  }

  // mark shows the lines of the step that is shown, and those of a fault.
  private mark(ops: readonly Op[]): void {
    const lines = this.scene ? linesOf(this.scene, ops) : new Map<number, Mark["kind"]>();
    this.editor.mark([...lines].map(([line, kind]) => ({ line, kind })));
  }

  private async openTrace(name: string, text: string): Promise<void> {
    this.stale();
    try {
      const { timeline } = await this.engine.request<{ timeline: Timeline }>("mscclc/trace", { name, text });
      this.player.showTrace(timeline, name);
      document.body.dataset.state = "trace";
    } catch (error) {
      this.player.tell("Failed", `${name}: ${(error as Error).message}`);
    }
  }

  /** say shows a word beside what is shown. */
  say(word: string): void {
    this.word = word;
    this.player.say(word);
  }

  /** openFile shows a program, a machine or a trace. */
  async openFile(file: File): Promise<void> {
    const text = await file.text();
    if (file.name.endsWith(".topo")) {
      this.pickers?.useTopology(text);
    } else if (/^\s*\{/.test(text) && text.includes('"traceEvents"')) {
      await this.openTrace(file.name, text);
    } else {
      this.word = "";
      delete this.opened.catalog;
      this.pickers?.forget();
      this.pickers?.own();
      this.show(file.name.replace(/[^\w.-]/g, "_"), text, []);
    }
  }

  /** link returns the fragment of what is shown. */
  async link(): Promise<string> {
    const catalog = this.pickers?.name;
    const own = { name: this.name.replace(/^.*\//, ""), text: this.editor.text };
    return pack({ ...(catalog ? { catalog } : { documents: [own] }), ...this.choices() });
  }

  // problemOf returns what is wrong with the text of a machine: "" where one can be made of it.
  private async problemOf(topology: string): Promise<string> {
    const asked = { textDocument: { uri: this.uri }, ...this.choices(), topology };
    const { machine } = await this.engine.request<Scene>("mscclc/scene", asked);
    return machine.name === "" ? machine.problem : "";
  }

  // editMachine asks for the text of a machine, and begins with that of the machine before.
  private async editMachine(): Promise<void> {
    const machine = this.pickers?.get().machine?.split(":")[0] ?? HOME;
    const text = this.pickers?.topology ??
      (await this.engine.request<{ text: string }>("mscclc/catalog", { machine })).text;
    const made = await askTopology(text, (topology) => this.problemOf(topology));
    this.pickers?.useTopology(made ?? this.pickers.topology);
  }
}

async function main(): Promise<void> {
  switchBy(byId("theme"));
  try {
    const opened = await begin();
    const app = new App(await moduleOf("mscclc.wasm.gz"));
    tools(app);
    await app.open(opened);
    window.addEventListener("hashchange", async () => {
      const next = await unpack(location.hash);
      if (next?.word === UNREADABLE) {
        app.say(UNREADABLE);
      } else if (next) {
        await app.open(next);
      }
    });
  } catch (error) {
    const why = `The prover could not start: ${(error as Error).message}`;
    byId("right").replaceChildren(el("p", { class: "starting", role: "alert" }, why));
    document.body.dataset.state = "failed";
  }
}

void main();

// The editor on the left: CodeMirror, with the language server in a worker of its own.
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentUnit } from "@codemirror/language";
import { Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { LSPClient, languageServerExtensions, Transport } from "@codemirror/lsp-client";
import { Compartment, EditorState, Extension, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, DecorationSet, EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap,
  lineNumbers,
} from "@codemirror/view";
import { start } from "./engine";
import { mscl } from "./language";
import { clean } from "./sanitize";
import { Problem, Span } from "./scene";

/** A Mark is a line of the text, and what the shown step has to do with it. */
export interface Mark {
  line: number;
  kind: "step" | "bad";
}

const setMarks = StateEffect.define<readonly Mark[]>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(old, transaction) {
    let now = old.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) {
        const lines = effect.value.filter((m) => m.line >= 1 && m.line <= transaction.state.doc.lines);
        now = Decoration.set(lines.map((m) =>
          Decoration.line({ class: `line-${m.kind}` }).range(transaction.state.doc.line(m.line).from)), true);
      }
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// transport carries the client's messages to a worker.
function transport(worker: Worker): Transport {
  const handlers = new Set<(text: string) => void>();
  worker.onmessage = (event: MessageEvent<string>) => handlers.forEach((handler) => handler(event.data));
  return {
    send: (text) => worker.postMessage(text),
    subscribe: (handler) => void handlers.add(handler),
    unsubscribe: (handler) => void handlers.delete(handler),
  };
}

export class Editor {
  private readonly server = new Compartment();
  private readonly view: EditorView;
  private client: LSPClient | undefined;
  private worker: Worker | undefined;
  private readonly extensions: Extension[];
  private proven = false; // the problems of the prover are shown, of the text as it is

  /** changed is called after each change of the text. */
  constructor(parent: HTMLElement, text: string, changed: () => void) {
    this.extensions = [
      lineNumbers(), foldGutter(), lintGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(),
      highlightActiveLine(), highlightActiveLineGutter(), indentUnit.of("    "), marks, mscl(),
      keymap.of([
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap,
        // Tab leaves the editor, as everywhere on the page; Ctrl-] and Ctrl-[ indent.
        { key: "Mod-]", run: indentMore }, { key: "Mod-[", run: indentLess },
      ]),
      EditorView.contentAttributes.of({ "aria-label": "The program", tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) {
          this.proven = false;
          changed();
        }
      }),
      this.server.of([]),
    ];
    this.view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions: this.extensions }) });
  }

  /** connect starts the language server for a document, whose name is uri. */
  connect(module: WebAssembly.Module, uri: string): void {
    this.client?.disconnect();
    this.worker?.terminate();
    this.worker = start(module);
    this.client = new LSPClient({
      extensions: [{ notificationHandlers: { "textDocument/publishDiagnostics": () => this.proven } },
        ...languageServerExtensions()],
      // A worker loses no message: on a busy machine an answer only comes late.
      initializationOptions: { scenes: true }, timeout: 300_000, sanitizeHTML: clean,
      unhandledNotification: () => undefined,
    });
    this.client.connect(transport(this.worker));
    this.view.dispatch({ effects: this.server.reconfigure(this.client.plugin(uri, "mscl")) });
  }

  /** showProblems shows what the prover found in the text as it is: all that the server finds while one types, and
   * more. */
  showProblems(problems: readonly Problem[], isShown: (at: Span) => boolean): void {
    this.proven = true;
    const list = problems.map((problem): Diagnostic => {
      const here = isShown(problem.at);
      const notes = problem.notes.map((note) =>
        `note: ${note.at.line > 0 ? `line ${note.at.line}: ` : ""}${note.text}`);
      const hint = problem.hint ? [`hint: ${problem.hint}`] : [];
      const [from, to] = here ? this.range(problem.at) : [0, 0];
      return { from, to, severity: problem.warning ? "warning" : "error",
        message: [problem.text, ...notes, ...hint].join("\n") };
    });
    this.view.dispatch(setDiagnostics(this.view.state, list));
  }

  // range returns where a span is. Spans count bytes of UTF-8.
  private range(at: Span): [number, number] {
    const doc = this.view.state.doc;
    const line = doc.line(Math.min(Math.max(at.line, 1), doc.lines));
    const bytes = new TextEncoder().encode(line.text);
    const to = (column: number): number => line.from + new TextDecoder().decode(bytes.subarray(0, column)).length;
    return [to(at.column - 1), to(at.column - 1 + at.length)];
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** open shows another text. There is no way back from it by undo, and it is no change. Connect comes after it. */
  open(text: string): void {
    this.client?.disconnect();
    this.client = undefined;
    this.proven = false;
    this.view.setState(EditorState.create({ doc: text, extensions: this.extensions }));
  }

  /** mark shows lines: those of the step that is shown, and those that are wrong. */
  mark(list: readonly Mark[]): void {
    this.view.dispatch({ effects: setMarks.of(list) });
  }

  /** show puts the cursor at a span, and scrolls there. */
  show(at: Span): void {
    const [from] = this.range(at);
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }
}

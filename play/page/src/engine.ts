// An Engine is a worker that runs the language server's WebAssembly. It can be stopped at any time and starts anew.

/** Stopped is the error of requests whose engine was stopped. */
export class Stopped extends Error {}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  since: number;
}

interface Message {
  id?: number;
  result?: unknown;
  error?: { code: number; message: string };
}

interface Document {
  uri: string;
  version: number;
  text: string;
}

// bytesOf fetches a file.
async function bytesOf(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url}: ${response.status} ${response.statusText}`);
  }
  return response.arrayBuffer();
}

/** moduleOf compiles the WebAssembly once, for all engines of the page. The file is compressed, unless the host says
 * so in a header: then the browser inflated it. */
export async function moduleOf(url: string): Promise<WebAssembly.Module> {
  const file = await bytesOf(url).catch(() => bytesOf(url)); // a connection may break once
  const head = new Uint8Array(file, 0, 4);
  if (head[0] === 0 && head[1] === 0x61 && head[2] === 0x73 && head[3] === 0x6d) {
    return WebAssembly.compile(file);
  }
  const stream = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** start returns a worker whose server runs module. */
export function start(module: WebAssembly.Module): Worker {
  const worker = new Worker("worker.js");
  worker.postMessage(module);
  return worker;
}

export class Engine {
  private worker: Worker | undefined;
  private readonly documents = new Map<string, Document>();
  private readonly waiting = new Map<number, Waiting>();
  private next = 1;

  /** limit is how many ms a request may take before its engine is stopped. */
  constructor(private readonly module: WebAssembly.Module, private readonly limit: number) {
    this.begin();
  }

  private begin(): void {
    const worker = start(this.module);
    worker.onmessage = (event: MessageEvent<string>) => this.receive(JSON.parse(event.data) as Message);
    worker.onerror = (event) => this.stop(event.message);
    this.worker = worker;
    const params = { capabilities: {}, initializationOptions: { scenes: true } };
    this.post({ id: 0, method: "initialize", params });
    for (const document of this.documents.values()) {
      this.open(document);
    }
  }

  private post(message: object): void {
    this.worker?.postMessage(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  private open({ uri, version, text }: Document): void {
    this.post({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "mscl", version, text } } });
  }

  /** set gives a document a text, and opens it if it is new. */
  set(uri: string, text: string): void {
    const known = this.documents.get(uri);
    if (known?.text === text) {
      return;
    }
    const now = { uri, text, version: (known?.version ?? 0) + 1 };
    this.documents.set(uri, now);
    if (known) {
      const params = { textDocument: { uri, version: now.version }, contentChanges: [{ text }] };
      this.post({ method: "textDocument/didChange", params });
    } else {
      this.open(now);
    }
  }

  /** clear closes all documents. */
  clear(): void {
    for (const uri of this.documents.keys()) {
      this.post({ method: "textDocument/didClose", params: { textDocument: { uri } } });
    }
    this.documents.clear();
  }

  private receive(message: Message): void {
    const asked = message.id === undefined ? undefined : this.waiting.get(message.id);
    if (message.id === undefined || !asked) {
      return;
    }
    this.waiting.delete(message.id);
    if (message.error) {
      asked.reject(new Error(message.error.message));
    } else {
      asked.resolve(message.result);
    }
  }

  /** request asks the server. It fails with Stopped if the answer takes too long, or somebody calls stop. */
  request<T>(method: string, params: object): Promise<T> {
    const id = this.next++;
    const answer = new Promise<unknown>((resolve, reject) =>
      this.waiting.set(id, { resolve, reject, since: performance.now() }));
    const timer = setTimeout(() => this.stop(`no answer within ${this.limit / 1000} s`), this.limit);
    this.post({ id, method, params });
    return answer.finally(() => clearTimeout(timer)) as Promise<T>;
  }

  /** stopIfSlow stops the engine if a request has waited for longer than ms. */
  stopIfSlow(ms: number): void {
    if ([...this.waiting.values()].some((asked) => performance.now() - asked.since > ms)) {
      this.stop("a newer text is there");
    }
  }

  /** stop ends the worker with all that it does, and begins a new one. */
  stop(reason: string): void {
    this.worker?.terminate();
    const lost = [...this.waiting.values()];
    this.waiting.clear();
    this.begin();
    for (const asked of lost) {
      asked.reject(new Stopped(reason));
    }
  }
}

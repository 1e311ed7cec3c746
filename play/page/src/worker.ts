// The worker that runs the language server's WebAssembly. Its first message is the compiled module; each later message
// is one of the client's, as a text. What it posts is the server's, as texts.

declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

const host = globalThis as unknown as {
  importScripts(name: string): void;
  Go: typeof Go;
  mscclcSend(text: string): void;
  mscclcReceive?(text: string): void;
  postMessage(text: string): void;
  onmessage: ((event: MessageEvent<WebAssembly.Module | string>) => void) | null;
};

host.importScripts("wasm_exec.js");
host.mscclcSend = (text) => host.postMessage(text);

const early: string[] = []; // messages that came before the server was there

async function start(module: WebAssembly.Module): Promise<void> {
  const go = new host.Go();
  void go.run(await WebAssembly.instantiate(module, go.importObject));
  for (const text of early) {
    host.mscclcReceive?.(text);
  }
}

host.onmessage = (event) => {
  if (event.data instanceof WebAssembly.Module) {
    void start(event.data);
  } else if (host.mscclcReceive) {
    host.mscclcReceive(event.data);
  } else {
    early.push(event.data);
  }
};

export {};

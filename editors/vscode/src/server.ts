// The language server's WebAssembly as a process of its own, whose messages are those of Node.
import * as fs from "node:fs";
import * as path from "node:path";

declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

const host = globalThis as unknown as {
  fs: typeof fs;
  path: typeof path;
  Go: typeof Go;
  mscclcFiles: boolean;
  mscclcSend(text: string): void;
  mscclcReceive(text: string): void;
};

host.fs = fs;
host.path = path;
host.mscclcFiles = true;
host.mscclcSend = (text) => process.send?.(JSON.parse(text));
require("./wasm_exec.js");

async function main(): Promise<void> {
  const go = new host.Go();
  const wasm = await WebAssembly.instantiate(fs.readFileSync(path.join(__dirname, "engine.wasm")), go.importObject);
  const ended = go.run(wasm.instance);
  process.on("message", (message) => host.mscclcReceive(JSON.stringify(message)));
  await ended;
  process.exit(0);
}

void main();

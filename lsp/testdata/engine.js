// Runs the language server's WebAssembly: node engine.js wasm_exec.js engine.wasm. It opens a program of the catalog,
// and prints the title of its lens when it is proven.
const fs = require("fs");
require(require("path").resolve(process.argv[2]));

const uri = "file:///ring.mscl";
const send = (message) => globalThis.mscclcReceive(JSON.stringify({ jsonrpc: "2.0", ...message }));
const lens = () => send({ id: 3, method: "textDocument/codeLens", params: { textDocument: { uri } } });
let begun = 0;

globalThis.mscclcSend = (text) => {
  const message = JSON.parse(text);
  if (message.id === 2) {
    begun = performance.now();
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, version: 1, text: message.result.text } } });
  } else if (message.method === "workspace/codeLens/refresh") {
    console.log(`proven after ${Math.round(performance.now() - begun)} ms`);
    lens();
  } else if (message.id === 3) {
    console.log(message.result[0].command.title);
    process.exit(0);
  }
};

const go = new globalThis.Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[3]), go.importObject).then(({ instance }) => {
  go.run(instance);
  send({ id: 1, method: "initialize", params: { capabilities: { workspace: { codeLens: { refreshSupport: true } } } } });
  send({ id: 2, method: "mscclc/catalog", params: { name: "allreduce/ring" } });
});

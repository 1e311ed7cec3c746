import { ChildProcess, spawn, spawnSync } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, ServerOptions, TransportKind } from "vscode-languageclient/node";

let client: LanguageClient | undefined;
let page: ChildProcess | undefined; // which serves the page of the last file that was played

// command returns mscclc as the settings name it, or undefined if it does not run here.
function command(): string | undefined {
  const name = vscode.workspace.getConfiguration("mscclc").get("path", "mscclc");
  return spawnSync(name, ["version"], { timeout: 10000 }).status === 0 ? name : undefined;
}

// task runs mscclc with args in a terminal, and shows the problems that it prints.
function task(title: string, args: string[]): vscode.Task {
  const name = vscode.workspace.getConfiguration("mscclc").get("path", "mscclc");
  const made = new vscode.Task({ type: "mscclc", args }, vscode.TaskScope.Workspace, title, "mscclc",
    new vscode.ProcessExecution(name, args), "$mscclc");
  made.presentationOptions = { clear: true };
  return made;
}

// words returns what each command runs for a file.
function words(file: string): Record<string, string[]> {
  const machine = vscode.workspace.getConfiguration("mscclc").get("machine", "h200");
  return {
    verify: ["verify", file],
    run: ["run", file, "--bytes", "64K"],
    simulate: ["simulate", file, "-t", machine],
  };
}

// fileOf returns the file that a command is about: that of its argument, or of the editor.
function fileOf(uri?: string): string | undefined {
  return uri ? vscode.Uri.parse(uri).fsPath : vscode.window.activeTextEditor?.document.uri.fsPath;
}

// play shows the page of mscclc play beside the text.
function play(file: string): void {
  const settings = vscode.workspace.getConfiguration("mscclc");
  page?.kill();
  const served = spawn(settings.get("path", "mscclc"),
    ["play", file, "-t", settings.get("machine", "h200"), "--no-open", "--json"], { stdio: ["ignore", "pipe", "pipe"] });
  page = served;
  let said = "";
  let wrong = "";
  served.stderr.on("data", (text: Buffer) => { wrong += text.toString(); });
  served.stdout.on("data", async (text: Buffer) => {
    said += text.toString();
    const url = /"url": "(http:[^"]+)"/.exec(said)?.[1];
    if (url) {
      said = "";
      await vscode.commands.executeCommand("simpleBrowser.api.open", vscode.Uri.parse(url),
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
    }
  });
  served.on("error", (e) => { void vscode.window.showErrorMessage(`mscclc play: ${e.message}`); });
  served.on("exit", (code) => {
    if (code) {
      void vscode.window.showErrorMessage(`mscclc play: ${wrong.trim() || said.trim()}`);
    }
  });
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const own = context.asAbsolutePath(path.join("dist", "server.js"));
  const name = command();
  const server: ServerOptions = name
    ? { command: name, args: ["lsp"], transport: TransportKind.stdio }
    : { module: own, transport: TransportKind.ipc };
  const settings = vscode.workspace.getConfiguration("mscclc");
  client = new LanguageClient("mscclc", "mscclc", server, {
    documentSelector: [{ language: "mscl" }, { language: "mscl-machine" }, { language: "xml", scheme: "file" }],
    initializationOptions: { machine: settings.get("machine"), bytes: settings.get("bytes") },
  });
  for (const does of ["verify", "run", "simulate"]) {
    context.subscriptions.push(vscode.commands.registerCommand(`mscclc.${does}`, async (uri?: string) => {
      const file = fileOf(uri);
      if (file) {
        await vscode.tasks.executeTask(task(does, words(file)[does]));
      }
    }));
  }
  context.subscriptions.push(vscode.commands.registerCommand("mscclc.play", (uri?: string) => {
    const file = fileOf(uri);
    if (file) {
      play(file);
    }
  }));
  context.subscriptions.push(vscode.tasks.registerTaskProvider("mscclc", {
    provideTasks: () => ["verify", "simulate"].map((does) => task(does, words("${file}")[does])),
    resolveTask: (given) => task(given.name, given.definition.args),
  }));
  await client.start();
}

export async function deactivate(): Promise<void> {
  page?.kill();
  await client?.stop();
}

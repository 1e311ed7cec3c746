// The buttons over the page, and the dialog for a machine of the reader's own.
import { byId } from "./dom";

/** Tool is what the buttons over the page use. */
interface Tool {
  link(): Promise<string>;
  openFile(file: File): Promise<void>;
}

/** tools lets the buttons copy links and open files. */
export function tools(app: Tool): void {
  const share = byId<HTMLButtonElement>("share");
  share.addEventListener("click", async () => {
    history.replaceState(null, "", await app.link());
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      said = "It is in the address bar";
    }
    share.textContent = said;
    window.setTimeout(() => { share.textContent = "Copy link"; }, 2000);
  });
  const file = byId<HTMLInputElement>("file");
  byId("open").addEventListener("click", () => file.click());
  const take = (list: FileList | undefined | null): void => {
    if (list?.[0]) {
      void app.openFile(list[0]);
    }
  };
  file.addEventListener("change", () => {
    take(file.files);
    file.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer?.files);
  });
}

/** askTopology asks for the text of a machine, and returns undefined if the reader gives none. It keeps asking while
 * problemOf says what is wrong with the text. */
export function askTopology(
  text: string, problemOf: (text: string) => Promise<string>,
): Promise<string | undefined> {
  const dialog = byId<HTMLDialogElement>("topo");
  const area = byId<HTMLTextAreaElement>("topo-text");
  const says = byId("topo-problem");
  area.value = text;
  says.hidden = true;
  dialog.returnValue = "";
  byId("topo-use").onclick = async () => {
    const problem = await problemOf(area.value).catch((error: Error) => error.message);
    says.textContent = problem;
    says.hidden = problem === "";
    if (problem === "") {
      dialog.close("use");
    }
  };
  byId("topo-close").onclick = () => dialog.close("");
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "use" ? area.value : undefined);
  });
}

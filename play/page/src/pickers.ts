// The pickers over the page: program, machine, parameters, size, protocol, sides and lanes.
import { byId, el } from "./dom";
import { Opened } from "./open";
import { Param } from "./scene";

interface Named {
  name: string;
  default: string;
}

/** Catalog is the answer to mscclc/catalog. */
export interface Catalog {
  programs: { name: string; collective: string; doc: string; params: Named[]; library: boolean }[];
  machines: { name: string; doc: string; params: Named[]; nodes: number; gpus: number; device: string }[];
  protocols: string[];
}

/** OWN is the value of pickers where the reader has something else than the catalog. */
const OWN = "*";

/** sizeOf returns the bytes of a size such as 64K or 1MiB, or undefined. */
export function sizeOf(text: string): number | undefined {
  const found = /^\s*(\d+)\s*([KMG]?)(i?B)?\s*$/i.exec(text);
  const power = ["", "K", "M", "G"].indexOf((found?.[2] ?? "").toUpperCase());
  const bytes = Number(found?.[1]) * 1024 ** power;
  return found && bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** sizeText is its inverse. */
export function sizeText(bytes: number): string {
  const power = [3, 2, 1].find((p) => bytes % 1024 ** p === 0 && bytes > 0) ?? 0;
  return `${bytes / 1024 ** power}${["", "K", "M", "G"][power]}`;
}

export class Pickers {
  private readonly program = byId<HTMLSelectElement>("catalog");
  private readonly machine = byId<HTMLSelectElement>("machine");
  private readonly options = byId<HTMLInputElement>("machine-options");
  private readonly ranks = byId<HTMLInputElement>("ranks");
  private readonly others = byId<HTMLSpanElement>("params");
  private readonly bytes = byId<HTMLInputElement>("bytes");
  private readonly protocol = byId<HTMLSelectElement>("protocol");
  private readonly sided = byId<HTMLSelectElement>("sided");
  private readonly lanes = byId<HTMLInputElement>("lanes");
  private params: Record<string, string> = {};
  private shown = ""; // the names of the parameters that have pickers
  private lastMachine = "h200";
  private lastBytes = 1 << 20; // the last right size
  topology: string | undefined;
  wrong = ""; // what is wrong with the choices
  byReader = false; // the machine was chosen, and does not follow the program

  /** changed is called after a choice, picked with a program of the catalog, and machine to edit an own one. */
  constructor(
    private readonly catalog: Catalog, private readonly changed: () => void, picked: (name: string) => void,
    editMachine: () => void,
  ) {
    this.fillPrograms();
    this.machine.append(...catalog.machines.map((m) => el("option", { value: m.name, title: m.doc }, m.name)),
      el("option", { value: OWN }, "your own .topo"));
    this.protocol.append(el("option", { value: "" }, "the program's"),
      ...catalog.protocols.map((p) => el("option", { value: p }, p)));
    this.program.addEventListener("change", () => this.program.value !== OWN && picked(this.program.value));
    this.machine.addEventListener("change", () => {
      this.byReader = true;
      this.options.value = "";
      if (this.machine.value === OWN) {
        editMachine();
      } else {
        this.lastMachine = this.machine.value;
        this.topology = undefined;
        this.showOptions();
        changed();
      }
    });
    byId("machine-edit").addEventListener("click", editMachine);
    this.ranks.addEventListener("input", () => this.setParam("ranks", this.ranks.value));
    this.bytes.addEventListener("input", changed);
    this.options.addEventListener("input", () => {
      this.byReader = true;
      changed();
    });
    for (const input of [this.protocol, this.sided]) {
      input.addEventListener("change", changed);
    }
    this.lanes.addEventListener("input", () => {
      if (Number(this.lanes.value) > 1) {
        this.sided.value = "one"; // only one-sided programs have lanes
      }
      changed();
    });
    byId("pickers").addEventListener("submit", (event) => event.preventDefault());
  }

  private fillPrograms(): void {
    const groups = new Map<string, HTMLOptGroupElement>();
    this.program.append(el("option", { value: OWN }, "your own"));
    for (const program of this.catalog.programs.filter((p) => !p.library)) {
      const [folder = "", name = program.name] = program.name.split("/");
      let group = groups.get(folder);
      if (!group) {
        group = el("optgroup", { label: folder });
        groups.set(folder, group);
        this.program.append(group);
      }
      group.append(el("option", { value: program.name, title: program.doc }, name));
    }
  }

  private setParam(name: string, value: string): void {
    if (value === "") {
      delete this.params[name];
    } else {
      this.params[name] = value;
    }
    this.changed();
  }

  private showOptions(): void {
    const params = this.catalog.machines.find((m) => m.name === this.machine.value)?.params ?? [];
    const own = this.machine.value === OWN;
    byId("machine-edit").hidden = !own;
    this.options.parentElement?.toggleAttribute("hidden", params.length === 0 && !own);
    this.options.placeholder = params.map((p) => `${p.name}=${p.default}`).join(",");
  }

  /** fit makes a machine of the catalog the one, as nobody chose another. */
  fit(machine: string): void {
    const [name = "", ...options] = machine.split(":");
    this.machine.value = this.lastMachine = name;
    this.options.value = options.join(":");
    this.showOptions();
  }

  /** useTopology makes text the machine, or without a text goes back to the machine before. */
  useTopology(text: string | undefined): void {
    this.topology = text;
    this.byReader ||= text !== undefined;
    this.machine.value = text === undefined ? this.lastMachine : OWN;
    this.showOptions();
    this.changed();
  }

  /** own says that the text is no longer the one of the catalog. */
  own(): void {
    this.program.value = OWN;
  }

  /** set takes the choices of a link or of the command. */
  set(opened: Opened): void {
    const [name = "", ...options] = (opened.machine ?? "h200").split(":");
    this.topology = opened.topology;
    this.byReader = opened.topology !== undefined || opened.machine !== undefined;
    this.machine.value = opened.topology === undefined ? name : OWN;
    if (opened.topology === undefined && this.machine.value === name) {
      this.lastMachine = name;
      this.options.value = options.join(":");
    } else if (opened.topology !== undefined) {
      this.options.value = opened.machine ?? "";
    }
    this.params = { ...opened.params };
    this.ranks.value = this.params.ranks ?? "";
    this.lastBytes = opened.bytes ?? 1 << 20;
    this.bytes.value = sizeText(this.lastBytes);
    this.protocol.value = opened.protocol ?? "";
    this.sided.value = opened.sided ?? "one";
    this.lanes.value = opened.lanes ? `${opened.lanes}` : "";
    this.program.value = opened.catalog ?? OWN;
    this.showOptions();
    this.shown = "";
  }

  /** forget drops the values of parameters: another program has others. */
  forget(): void {
    this.params = {};
    this.ranks.value = "";
  }

  /** showParams offers the parameters that the file has. */
  showParams(params: Param[]): void {
    const own = params.find((p) => p.name === "ranks");
    this.ranks.disabled = own === undefined && params.length > 0;
    this.ranks.placeholder = own?.value ?? "";
    const others = params.filter((p) => p.name !== "ranks");
    const names = others.map((p) => `${p.name}=${p.default}`).join();
    if (names === this.shown) {
      return;
    }
    this.shown = names;
    this.others.replaceChildren(...others.map((p) => {
      const input = el("input", {
        type: "text", size: 4, placeholder: p.default, value: this.params[p.name], spellcheck: "false",
      });
      input.addEventListener("input", () => this.setParam(p.name, input.value.trim()));
      return el("label", {}, p.name, " ", input);
    }));
  }

  /** get returns the choices, without documents. */
  get(): Opened {
    const bytes = sizeOf(this.bytes.value);
    this.bytes.setAttribute("aria-invalid", `${bytes === undefined}`);
    this.lastBytes = bytes ?? this.lastBytes;
    this.wrong = bytes !== undefined ? ""
      : `Size: "${this.bytes.value}" is no number of bytes, such as 64K or 1M; this is ${sizeText(this.lastBytes)}`;
    const options = this.options.value.trim();
    const own = this.topology !== undefined;
    const machine = own ? options : this.lastMachine + (options ? `:${options}` : "");
    return {
      params: { ...this.params }, machine: machine || undefined, topology: this.topology, bytes: this.lastBytes,
      protocol: this.protocol.value || undefined, sided: this.sided.value || undefined,
      lanes: Number(this.lanes.value) || undefined,
    };
  }

  /** name returns the program of the catalog that is chosen, if the text is still its own. */
  get name(): string | undefined {
    return this.program.value === OWN ? undefined : this.program.value;
  }
}

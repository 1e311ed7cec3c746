// What the page shows: documents and choices. A link holds them, deflated in the URL's fragment, which no server gets;
// mscclc play writes them into the page.

/** Opened is what a link, or the command, says. A choice that is not there is the page's own. */
export interface Opened {
  documents?: { name: string; text: string }[]; // the first is shown, the others are imports
  catalog?: string; // a program of the catalog, in place of documents
  params?: Record<string, string>;
  machine?: string;
  topology?: string; // the text of a machine
  bytes?: number;
  protocol?: string;
  sided?: string;
  lanes?: number;
  trace?: { name: string; text: string };
  word?: string; // what the reader must know of the link
}

/** Unreadable is what the page says of a link that unpack cannot read. */
export const UNREADABLE = "The link could not be read";

const MOST = 1 << 20; // characters that a link may unfold to

async function through(data: BlobPart, by: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(by)).arrayBuffer());
}

// inflate returns the text of deflated bytes, and fails where it is too long.
async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST) {
      throw new Error("the link is too long");
    }
  }
  return text;
}

/** pack returns the fragment of a link. */
export async function pack(opened: Opened): Promise<string> {
  const bytes = await through(JSON.stringify(opened), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) {
    binary += String.fromCharCode(byte);
  }
  return "#p=" + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** unpack returns what a fragment holds, or undefined if it is none of a link. One that cannot be read has a word. */
export async function unpack(fragment: string): Promise<Opened | undefined> {
  if (!fragment.startsWith("#p=")) {
    return undefined;
  }
  try {
    const binary = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const value = JSON.parse(await inflate(Uint8Array.from(binary, (c) => c.charCodeAt(0)))) as unknown;
    return valid(value) ?? { word: UNREADABLE };
  } catch {
    return { word: UNREADABLE };
  }
}

// valid takes the fields of the right types: anybody can write a link.
function valid(value: unknown): Opened | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const from = value as Record<string, unknown>;
  const text = (name: string): string | undefined => typeof from[name] === "string" ? from[name] : undefined;
  const number = (name: string): number | undefined => typeof from[name] === "number" ? from[name] : undefined;
  const isDocument = (d: unknown): d is { name: string; text: string } => {
    const { name, text: body } = (d ?? {}) as Record<string, unknown>;
    return typeof name === "string" && typeof body === "string" && /^[\w./-]+$/.test(name);
  };
  const documents = Array.isArray(from.documents) ? from.documents.filter(isDocument) : undefined;
  const params = typeof from.params === "object" && from.params !== null
    ? Object.fromEntries(Object.entries(from.params).filter(([, v]) => typeof v === "string")) as Record<string, string>
    : undefined;
  const bytes = Number.isSafeInteger(from.bytes) && Number(from.bytes) > 0 ? Number(from.bytes) : undefined;
  const word = from.bytes !== undefined && bytes === undefined
    ? `The link's size, ${JSON.stringify(from.bytes).slice(0, 40)}, is no whole number of bytes from 1 on: ` +
      "it is 1M here"
    : undefined;
  return { word, documents, params, catalog: text("catalog"), machine: text("machine"), topology: text("topology"),
    bytes, protocol: text("protocol"), sided: text("sided"), lanes: number("lanes") };
}

// written returns what the command wrote into the page.
function written(): Opened | undefined {
  const script = document.getElementById("mscclc-open");
  return script ? JSON.parse(script.textContent ?? "{}") as Opened : undefined;
}

/** begin returns what the page begins with: what its link holds, or else what the command wrote. The address of
 * mscclc play FILE gets a link when the reader copies one. */
export async function begin(): Promise<Opened> {
  const link = await unpack(location.hash);
  return link?.word === UNREADABLE ? { ...written(), ...link } : link ?? written() ?? {};
}

// Small helpers for elements.

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string;

function fill(made: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children);
}

/** el makes an element of HTML. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  fill(made, attributes, children);
  return made;
}

/** svg makes an element of SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(made, attributes, children);
  return made;
}

/** byId returns the element of the page with an id. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`the page has no #${id}`);
  }
  return found as T;
}

/** still reports whether the reader asked for no motion. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

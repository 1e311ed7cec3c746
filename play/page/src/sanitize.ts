// What the server says of a text is shown as HTML. A link may bring any text, so only plain elements stay.

const KEPT = new Set(["P", "PRE", "CODE", "EM", "STRONG", "UL", "OL", "LI", "BR", "SPAN", "HR", "TABLE", "THEAD",
  "TBODY", "TR", "TH", "TD"]);

/** clean returns html without attributes but class, and without any element that is not plain text. */
export function clean(html: string): string {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const element of [...page.body.querySelectorAll("*")]) {
    if (!KEPT.has(element.tagName)) {
      element.replaceWith(document.createTextNode(element.textContent ?? ""));
      continue;
    }
    for (const { name } of [...element.attributes]) {
      if (name !== "class") {
        element.removeAttribute(name);
      }
    }
  }
  return page.body.innerHTML;
}

// What travels, as a sign: a copy is a disc in the colour of its rank, a sum a ring of its ranks' colours.
import { svg } from "./dom";
import { Content } from "./scene";
import { colour, ranksOf } from "./state";

// slice returns the path of a part of a ring, from and to in turns.
function slice(from: number, to: number, outer: number, inner: number): string {
  const at = (turn: number, r: number): string => {
    const angle = 2 * Math.PI * turn - Math.PI / 2;
    return `${(r * Math.cos(angle)).toFixed(2)} ${(r * Math.sin(angle)).toFixed(2)}`;
  };
  const large = to - from > 0.5 ? 1 : 0;
  return `M${at(from, outer)}A${outer} ${outer} 0 ${large} 1 ${at(to, outer)}` +
    `L${at(to, inner)}A${inner} ${inner} 0 ${large} 0 ${at(from, inner)}Z`;
}

/** glyph draws a content with radius r and a text in its middle. */
export function glyph(content: Content | undefined, ranks: number, r: number, text: string): SVGGElement {
  const group = svg("g", { class: "dot" });
  const of = content ? ranksOf(content) : [];
  if (of.length > 1) {
    group.append(svg("circle", { r, class: "dot-hole" }));
    of.forEach((rank, i) => {
      const part = svg("path", { d: slice(i / of.length, (i + 1) / of.length, r, r * 0.58) });
      part.style.fill = colour(rank, ranks);
      group.append(part);
    });
    group.append(svg("circle", { r, class: "dot-edge" }));
  } else {
    const disc = svg("circle", { r, class: "dot-edge" });
    disc.style.fill = of[0] === undefined ? "var(--soft)" : colour(of[0], ranks);
    group.append(disc);
  }
  const label = svg("text", { class: of.length > 1 ? "dot-text" : "dot-text on-colour", dy: "0.35em" }, text);
  label.style.fontSize = `${r * (text.length > 2 ? 0.7 : 0.95)}px`;
  group.append(label);
  return group;
}

// Writes the licences of what esbuild bundled: node licences.mjs METAFILE.json LICENCES.txt.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const [meta, out] = process.argv.slice(2);
const folder = /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const names = Object.keys(JSON.parse(readFileSync(meta, "utf8")).inputs).map((file) => folder.exec(file)?.[1]);
const texts = new Map(); // the packages that have a licence, by its text
for (const name of [...new Set(names.filter(Boolean))].sort()) {
  const file = readdirSync(name).find((f) => /^(LICEN[CS]E|COPYING)/i.test(f));
  if (!file) {
    throw new Error(`${name} has no licence`);
  }
  const text = readFileSync(`${name}/${file}`, "utf8").trim();
  const { version } = JSON.parse(readFileSync(`${name}/package.json`, "utf8"));
  texts.set(text, [...(texts.get(text) ?? []), `${name.slice("node_modules/".length)} ${version}`]);
}
writeFileSync(out, [...texts].map(([text, of]) => `${of.join("\n")}\n\n${text}\n`).join("\n----\n\n"));

// The colours of .mscl. The words are those of the language's own tables: a test of package lsp writes words.json.
import { HighlightStyle, StreamLanguage, StreamParser, syntaxHighlighting } from "@codemirror/language";
import { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import words from "./words.json";

interface State {
  last: string; // the word before this one
}

const keywords = new Set(words.keywords);
const constants = new Set([...words.constants, ...words.protocols]);
const collectives = new Set(words.collectives);
const operations = new Set(words.operations);
const functions = new Set(words.functions);
const buffers = new Set(words.buffers);

// kindOf returns the style of a word by what stands before it and after it.
function kindOf(word: string, before: string, call: boolean): string | null {
  if (before === ".") {
    return operations.has(word) ? "propertyName" : null;
  }
  if (before === "collective" && collectives.has(word)) {
    return "typeName";
  }
  if (before === "def" || before === "algorithm") {
    return "labelName";
  }
  if (keywords.has(word)) {
    return "keyword";
  }
  if (constants.has(word)) {
    return "atom";
  }
  if (functions.has(word) && call) {
    return "variableName.standard";
  }
  return buffers.has(word) ? "atom" : null;
}

const parser: StreamParser<State> = {
  name: "mscl",
  startState: () => ({ last: "" }),
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  token(stream, state) {
    if (stream.eatSpace()) {
      return null;
    }
    if (stream.match(/^#.*/)) {
      return "comment";
    }
    if (stream.match(/^"[^"]*"?/)) {
      state.last = "";
      return "string";
    }
    if (stream.match(/^\d[\d_]*([KMGkmg]([iI]?[bB])?)?/)) {
      state.last = "";
      return "number";
    }
    if (stream.match(/^\.\./)) {
      state.last = "";
      return "operator";
    }
    if (stream.match(/^[A-Za-z_]\w*/)) {
      const word = stream.current();
      const kind = kindOf(word, state.last, stream.match(/^\s*\(/, false) !== null);
      state.last = word;
      return kind;
    }
    state.last = stream.next() ?? "";
    return /[-+*/%<>&|^!=]/.test(state.last) ? "operator" : null;
  },
};

const style = HighlightStyle.define([
  { tag: tags.comment, class: "w-comment" },
  { tag: tags.string, class: "w-string" },
  { tag: tags.number, class: "w-number" },
  { tag: tags.keyword, class: "w-keyword" },
  { tag: tags.atom, class: "w-atom" },
  { tag: tags.typeName, class: "w-type" },
  { tag: tags.labelName, class: "w-name" },
  { tag: tags.propertyName, class: "w-call" },
  { tag: tags.standard(tags.variableName), class: "w-call" },
]);

/** mscl is the language, with its colours. */
export function mscl(): Extension {
  return [StreamLanguage.define(parser), syntaxHighlighting(style)];
}

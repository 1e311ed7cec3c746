#!/bin/sh
# Builds the extension: editors/vscode/build.sh FILE.vsix. It needs Go, Node and npm, and works in a folder of its own.
set -eu
out=$(realpath "${1:?the file to write}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r . "$work"
cp ../../LICENSE "$work"
mkdir "$work/dist"
GOOS=js GOARCH=wasm go build -trimpath -gcflags=all=-l -ldflags='-s -w' -o "$work/dist/engine.wasm" ../../lsp/wasm
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$work/dist"
cd "$work"
npm ci --no-audit --no-fund --silent
npx tsc
bundle='npx esbuild --bundle --platform=node --format=cjs --minify --external:vscode --external:./wasm_exec.js'
$bundle src/extension.ts --outfile=dist/extension.js
$bundle src/server.ts --outfile=dist/server.js
npx --yes @vscode/vsce@4.1.0 package --no-dependencies --out "$out"

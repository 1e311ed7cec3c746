#!/bin/sh
# Builds the page: play/page/build.sh FOLDER [AXE.js]. It needs Node and npm, and works in a folder of its own. FOLDER
# is then a static site, but for mscclc.wasm.gz and wasm_exec.js, which package play adds. AXE.js gets what tests of
# access run in the page.
set -eu
mkdir -p "${1:?the folder to write}"
out=$(realpath "$1")
axe=${2:+$(realpath "$2")}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r package.json package-lock.json tsconfig.json licences.mjs src static "$work"
cd "$work"
npm ci --no-audit --no-fund --silent
npx tsc
npx esbuild --bundle --format=iife --target=es2022 --minify --charset=ascii --log-level=warning \
    src/app.ts src/player.ts src/worker.ts --outdir="$out" --metafile=meta.json
node licences.mjs meta.json "$out/licences.txt"
npx esbuild --minify --log-level=warning static/app.css --outfile="$out/app.css"
cp static/index.html static/player.html "$out"
[ -z "$axe" ] || cp node_modules/axe-core/axe.min.js "$axe"

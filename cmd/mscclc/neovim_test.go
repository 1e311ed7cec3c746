package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/internal/testing/objects"
)

// probe has Neovim open a program that is wrong, wait for its diagnostics, ask for a hover, mend the program, and wait
// until the diagnostics are gone.
const probe = `vim.cmd("edit wrong.mscl")
local count = function() return #vim.diagnostic.get(0) end
vim.wait(60000, function() return count() > 0 end, 20)
for _, d in ipairs(vim.diagnostic.get(0)) do io.write(d.lnum, " ", d.code or "", " ", d.message, "\n") end
local params = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 3, character = 4 } }
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", params, 60000) or {}) do
  io.write(answer.result.contents.value, "\n")
end
vim.api.nvim_buf_set_lines(0, 3, 4, false, { "for r in 0..ranks, q in 0..ranks { chunk(r, input, 0).copy(q, output, r) }" })
io.write(vim.wait(60000, function() return count() == 0 end, 20) and "mended\n" or "still wrong\n")
vim.cmd("qall!")
`

// TestNeovim starts the server as docs/editors.md says.
func TestNeovim(t *testing.T) {
	neovim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("there is no Neovim")
	}
	page, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```lua\n")
	config, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/editors.md has no Lua")
	}
	folder := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "mscclc"), ".")
	build.Env = objects.Environ()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wrong := "algorithm wrong(ranks = 2)\ncollective allgather(ranks)\n\nchunk(0, input, 0).copy(1, output, 0)\n"
	for name, text := range map[string]string{"init.lua": config, "probe.lua": probe, "wrong.mscl": wrong} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(neovim, "--headless", "-n", "-i", "NONE", "-u", "init.lua", "-c", "luafile probe.lua")
	cmd.Dir = folder
	cmd.Env = append(cmd.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+folder)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"1 wrong-result output[0] of rank 0 must hold in[0][0]", "rank 1 output[0] holds in[0][0]", "mended"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v\n%s\nlacks %s", err, out, want)
		}
	}
}

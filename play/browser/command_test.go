package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShow opens the file that mscclc show --html writes: it plays without a server.
func TestShow(t *testing.T) {
	b := theBench(t)
	file := filepath.Join(t.TempDir(), "ring.html")
	if out, err := exec.Command(command(t), "show", "allreduce/ring", "--html", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := b.open(t, "file://"+file)
	p.wait(`document.querySelector(".badge")?.textContent === "Proven"`)
	if steps := p.toEnd(); steps != 14 {
		t.Errorf("it has %d steps, want 14", steps)
	}
	for _, cell := range evaluate[[]string](p, `[...document.querySelectorAll(".chunks tbody td")].map((td) => td.title)`) {
		if !strings.HasPrefix(cell, "the sum of ") || !strings.HasSuffix(cell, " of ranks 0-7") {
			t.Fatalf("in the end a chunk holds %q", cell)
		}
	}
	if lines := evaluate[int](p, `document.querySelectorAll(".source .line-step").length`); lines != 1 {
		t.Errorf("%d lines of the program are lit", lines)
	}
	p.accessible(b)
}

// TestPlay opens what mscclc play serves.
func TestPlay(t *testing.T) {
	b := theBench(t)
	p := b.open(t, serve(t, "testdata/wrong.mscl"))
	p.shown()
	if text := p.says(); !strings.Contains(text, "Rejected") || !strings.Contains(text, "wrong.mscl") {
		t.Errorf("it says %q", text)
	}
	p.wait(`document.querySelectorAll(".line-bad").length > 0`)
}

// TestTrace opens the trace of a run in the page.
func TestTrace(t *testing.T) {
	b := theBench(t)
	text, err := os.ReadFile("../testdata/run.trace.json")
	if err != nil {
		t.Fatal(err)
	}
	p := b.open(t, "")
	p.shown()
	p.give("run.trace.json", string(text))
	p.wait(`document.body.dataset.state === "trace"`)
	if said := p.says(); !strings.Contains(said, "run.trace.json") {
		t.Errorf("it says %q", said)
	}
	if shown := evaluate[bool](p, `document.querySelector(".chart path[class^=look]").getAttribute("d").length > 10 &&
  document.querySelector("#view-machine").hidden`); !shown {
		t.Error("the timeline is empty, or the machine is still there")
	}
	p.give("mine.mscl", mine)
	p.wait(`document.body.dataset.state === "shown" && !document.querySelector("#view-machine").hidden`)
}

// TestMachine shows a machine of the reader's own.
func TestMachine(t *testing.T) {
	b := theBench(t)
	text, err := os.ReadFile("../../topology/machines/pcie_8gpu.topo")
	if err != nil {
		t.Fatal(err)
	}
	p := b.open(t, "")
	p.shown()
	before := evaluate[string](p, `document.querySelector(".figures dd").textContent`)
	p.give("own.topo", string(text))
	p.wait(`document.body.dataset.state === "shown" && document.querySelector(".figures dd").textContent !== ` + quote(before))
	if at := evaluate[string](p, `document.querySelector("#machine").selectedOptions[0].textContent`); at != "your own .topo" {
		t.Errorf("the picker has %q", at)
	}
}

// give gives the page a file, as a reader does who picks it.
func (p *tab) give(name, text string) {
	p.t.Helper()
	evaluate[any](p, `(() => {
  const files = new DataTransfer();
  files.items.add(new File([`+quote(text)+`], `+quote(name)+`));
  const input = document.querySelector("#file");
  input.files = files.files;
  input.dispatchEvent(new Event("change"));
})()`)
}

package browser

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLinkFirst opens a link on the page of mscclc play FILE: its text is shown, and not the file's.
func TestLinkFirst(t *testing.T) {
	b := theBench(t)
	p := b.open(t, serve(t, "testdata/wrong.mscl")+link(t, nil, document{"mine.mscl", mine}))
	p.shown()
	if said := p.says(); !strings.Contains(said, "Proven") || !strings.Contains(said, "mine.mscl") {
		t.Errorf("it says %q", said)
	}
}

// serve returns where mscclc play serves a file.
func serve(t *testing.T, file string) string {
	t.Helper()
	play := exec.Command(command(t), "play", file, "--no-open", "--port", "0")
	said, err := play.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	also, err := play.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := play.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		play.Process.Signal(os.Interrupt)
		play.Wait()
	})
	found := make(chan string, 2)
	for _, stream := range []io.Reader{said, also} {
		go func() {
			for lines := bufio.NewScanner(stream); lines.Scan(); {
				if url := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); url != "" {
					found <- url
				}
			}
		}()
	}
	return <-found
}

// TestWrongLink opens links that have no program: the first one is shown, with a word.
func TestWrongLink(t *testing.T) {
	for _, test := range []struct{ link, says string }{
		{"#p=nonsense", "could not be read"},
		{link(t, map[string]any{"catalog": "no/such", "params": map[string]string{"x": "1"}}), "no program no/such"},
		{link(t, map[string]any{"catalog": "allreduce/ring", "bytes": -5}), "-5"},
	} {
		p := theBench(t).open(t, test.link)
		p.shown()
		if said := p.says(); !strings.Contains(said, "Proven") || !strings.Contains(said, test.says) {
			t.Errorf("of %s it says %q", test.link, said)
		}
		if at := evaluate[string](p, `document.querySelector("#catalog").value`); at != "allreduce/ring" {
			t.Errorf("the picker has %q", at)
		}
		p.choose("#ranks", "5")
		p.shown()
		if said := p.says(); !strings.Contains(said, "5 ranks") {
			t.Errorf("then it says %q", said)
		}
	}
}

// TestSizes writes wrong sizes: the last right one stays, and the page says so.
func TestSizes(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	const latency = `document.querySelector(".figures dd").textContent`
	p.choose("#bytes", "64K")
	p.shown()
	right := evaluate[string](p, latency)
	for _, wrong := range []string{"abc", "1.5M", "1T"} {
		p.choose("#bytes", wrong)
		p.shown()
		if said := p.says(); !strings.Contains(said, "Size: ") || !strings.Contains(said, wrong) {
			t.Errorf("of %s it says %q", wrong, said)
		}
		if now := evaluate[string](p, latency); now != right {
			t.Errorf("with %s the latency is %s, and before it was %s", wrong, now, right)
		}
	}
	p.choose("#bytes", "1M")
	p.shown()
	if said := p.says(); strings.Contains(said, "Size: ") || evaluate[string](p, latency) == right {
		t.Errorf("in the end it says %q", said)
	}
}

// TestFit shows programs that h200 has no room for: the page takes a machine that has, until the reader picks one.
func TestFit(t *testing.T) {
	p := theBench(t).open(t, link(t, map[string]any{"catalog": "allreduce/hierarchical"}))
	p.shown()
	const machine = `document.querySelector("#machine").value + ":" + document.querySelector("#machine-options").value`
	p.wait(machine + ` === "dgx_h100:nodes=2" && document.querySelector(".figures dd")`)
	p = theBench(t).open(t, "")
	p.shown()
	for _, test := range []struct{ ranks, machine string }{
		{"20", "dgx_h100:nodes=3"}, {"10", "dgx_h100:nodes=2"}, {"8", "h200:"},
	} {
		p.choose("#ranks", test.ranks)
		p.shown()
		p.wait(machine + ` === ` + quote(test.machine) + ` && document.querySelector(".figures dd")`)
	}
	evaluate[any](p, `(() => {
  const machine = document.querySelector("#machine");
  machine.value = "pcie_8gpu";
  machine.dispatchEvent(new Event("change"));
})()`)
	p.choose("#ranks", "20")
	p.shown()
	if at := evaluate[string](p, machine); at != "pcie_8gpu:" {
		t.Errorf("the machine is %s, and not the one that was picked", at)
	}
	if said := evaluate[string](p, `document.querySelector("#view-timeline").innerText`); !strings.Contains(said, "20") {
		t.Errorf("the timeline gives no reason: %q", said)
	}
}

// TestUndo undoes all: the text is the one that was opened last.
func TestUndo(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	const text = `document.querySelector(".cm-content").innerText`
	undo := func(want string) {
		t.Helper()
		evaluate[any](p, `document.querySelector(".cm-content").focus()`)
		for range 3 {
			if err := chromedp.Do(p.ctx, chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))); err != nil {
				t.Fatal(err)
			}
		}
		p.shown()
		if got := evaluate[string](p, text); got != want {
			t.Errorf("undone, the text is %q and not %q", got, want)
		}
	}
	undo(evaluate[string](p, text))
	p.give("mine.mscl", mine)
	p.wait(`document.querySelector(".cm-content").innerText.includes("mine(ranks")`)
	p.shown()
	opened := evaluate[string](p, text)
	p.typeAfter("for r in 0..ranks", " - 1")
	p.wait(text + ` !== ` + quote(opened))
	undo(opened)
}

// TestName changes a program of the catalog: messages no longer name the catalog's file.
func TestName(t *testing.T) {
	for _, name := range []string{"allreduce/ring", "reducescatter/hierarchical"} {
		p := theBench(t).open(t, link(t, map[string]any{"catalog": name}))
		p.shown()
		before := evaluate[string](p, `document.querySelector(".badge").textContent`)
		p.typeAfter("collective", " ")
		p.wait(`document.body.dataset.state === "shown" &&
  document.querySelector("#verdict").innerText.includes("mine.mscl")`)
		if said := p.says(); !strings.Contains(said, before) || before != "Proven" {
			t.Errorf("it says %q", said)
		}
	}
}

// TestMend writes a machine with an error: the dialog says so and stays, and opens again with what was written.
func TestMend(t *testing.T) {
	text, err := os.ReadFile("../../topology/machines/pcie_8gpu.topo")
	if err != nil {
		t.Fatal(err)
	}
	p := theBench(t).open(t, "")
	p.shown()
	p.give("own.topo", "nonsense\n"+string(text))
	p.wait(`document.body.dataset.state === "shown" && !document.querySelector("#machine-edit").hidden`)
	evaluate[any](p, `document.querySelector("#machine-edit").click()`)
	const open = `document.querySelector("#topo").open`
	p.wait(open + ` && document.querySelector("#topo-text").value.startsWith("nonsense")`)
	evaluate[any](p, `document.querySelector("#topo-use").click()`)
	p.wait(open + ` && document.querySelector("#topo-problem").innerText.includes("nonsense")`)
	evaluate[any](p, `(() => {
  const area = document.querySelector("#topo-text");
  area.value = area.value.replace("nonsense", "");
  document.querySelector("#topo-use").click();
})()`)
	p.wait(`!` + open + ` && document.body.dataset.state === "shown" && document.querySelector(".figures dd")`)
}

// TestOneScrollBar shows the page in a small window: only the right side scrolls.
func TestOneScrollBar(t *testing.T) {
	p := theBench(t).open(t, "")
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(1000, 700)); err != nil {
		t.Fatal(err)
	}
	p.shown()
	if high := evaluate[int](p, `document.documentElement.scrollHeight`); high > 700 {
		t.Errorf("the page is %d high in a window of 700", high)
	}
	if said := evaluate[string](p, `document.querySelector("#view-timeline").innerText`); !strings.Contains(said,
		"without the launch of ") {
		t.Errorf("the timeline says %q", said)
	}
}

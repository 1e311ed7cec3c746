// Package site has the page of mscclc play. The page consists of static files, which play/page/build.sh makes from
// TypeScript. It loads an engine, which compiles, proves and simulates: package lsp/wasm as a WebAssembly module. The
// static files are in the repository, and the engine is not. In a clone, the Go tool builds the engine. A release of
// mscclc (wheel, .deb or archive) has the engine in a folder.
//
// # Where to begin
//
//   - [Files] returns the files of the page. [ReadEngine] and [BuildEngine] return the files of the engine. Together
//     they are a static folder for any web host.
//   - [Index] makes index.html with what it shows first. [Player] makes one file that shows a scene without an engine.
package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"mscclc/play"
)

//go:embed *.html *.js *.css licences.txt
var files embed.FS

// Files returns the files of the page by their names, without those of the engine.
func Files() (map[string][]byte, error) {
	list, err := fs.Glob(files, "*")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, name := range list {
		if all[name], err = files.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// An Opened is what the page shows first. What is not there is the page's own choice.
type Opened struct {
	Documents []Document        `json:"documents,omitempty"` // the first is shown, the others are imports
	Params    map[string]string `json:"params,omitempty"`
	Machine   string            `json:"machine,omitempty"`
	Topology  string            `json:"topology,omitempty"` // the text of a .topo file
	Bytes     int64             `json:"bytes,omitempty"`
	Protocol  string            `json:"protocol,omitempty"`
	Sided     string            `json:"sided,omitempty"`
	Lanes     int               `json:"lanes,omitempty"`
	Trace     *Document         `json:"trace,omitempty"`
}

// A Document is a file that the page opens.
type Document struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// The marks in index.html and player.html that are replaced.
const (
	openMark   = "<!-- mscclc:open -->"
	styleMark  = "<!-- mscclc:style -->"
	scriptMark = "<!-- mscclc:script -->"
	sceneMark  = "<!-- mscclc:scene -->"
)

// Index returns index.html with what it shows first.
func Index(o *Opened) ([]byte, error) {
	page, err := files.ReadFile("index.html")
	if err != nil {
		return nil, err
	}
	data, err := dataScript("mscclc-open", o)
	if err != nil {
		return nil, err
	}
	return replaced(page, openMark, data)
}

// Player returns one file that shows a scene, and loads nothing.
func Player(s *play.Scene) ([]byte, error) {
	page, err := files.ReadFile("player.html")
	if err != nil {
		return nil, err
	}
	style, err := files.ReadFile("app.css")
	if err != nil {
		return nil, err
	}
	script, err := files.ReadFile("player.js")
	if err != nil {
		return nil, err
	}
	data, err := dataScript("mscclc-scene", s)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		mark string
		text []byte
	}{{styleMark, inside("style", "", style)}, {sceneMark, data}, {scriptMark, inside("script", "", script)}} {
		if page, err = replaced(page, part.mark, part.text); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// dataScript returns an element that holds value as JSON. Whatever texts value has, they do not end the element: JSON
// has < as \u003c.
func dataScript(id string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return inside("script", ` type="application/json" id="`+id+`"`, text), nil
}

func inside(element, attributes string, text []byte) []byte {
	return fmt.Appendf(nil, "<%s%s>%s</%s>", element, attributes, text, element)
}

// replaced returns page with text in place of a mark, which it has once.
func replaced(page []byte, mark string, text []byte) ([]byte, error) {
	before, after, found := bytes.Cut(page, []byte(mark))
	if !found || bytes.Contains(after, []byte(mark)) {
		return nil, fmt.Errorf("the page does not have %s once", mark)
	}
	return bytes.Join([][]byte{before, text, after}, nil), nil
}

package playcmd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mscclc/play/site"
)

// TestHandler serves the page, and refuses what is none of its files, and hosts that are not this machine.
func TestHandler(t *testing.T) {
	all, err := site.Files()
	if err != nil {
		t.Fatal(err)
	}
	if all["index.html"], err = site.Index(&site.Opened{Documents: []site.Document{{Name: "a.mscl", Text: "</script>"}}}); err != nil {
		t.Fatal(err)
	}
	h := handler("127.0.0.1:4711", all)
	for _, c := range []struct {
		method, host, path string
		code               int
		has                string
	}{
		{"GET", "127.0.0.1:4711", "/", 200, `id="mscclc-open">{"documents":[{"name":"a.mscl","text":"\u003c/script\u003e"}]}</script>`},
		{"GET", "localhost:4711", "/app.js", 200, "mscclc"},
		{"HEAD", "127.0.0.1:4711", "/app.css", 200, ""},
		{"GET", "127.0.0.1:4711", "/../../go.mod", 404, ""},
		{"GET", "127.0.0.1:4711", "/nothing", 404, ""},
		{"POST", "127.0.0.1:4711", "/", 405, ""},
		{"GET", "evil.example:4711", "/", 403, ""},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1:4711"+c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.has) {
			t.Errorf("%s %s of %s: %d, without %s", c.method, c.path, c.host, w.Code, c.has)
		}
		if w.Code == http.StatusOK && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy", c.path)
		}
	}
}

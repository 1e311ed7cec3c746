package selection

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mscclc/executor/launch"
	"mscclc/internal/strictjson"
)

// keys lists the JSON keys of a struct's fields, those of embedded structs among them.
func keys(t reflect.Type) (list []string) {
	for f := range t.Fields() {
		if f.Anonymous {
			list = append(list, keys(f.Type)...)
		} else {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			list = append(list, key)
		}
	}
	return list
}

// A value of each field, which is not the field's zero value.
var values = map[string]string{"program": `"allreduce/ring"`, "protocol": `"LL"`, "sided": `"two"`, "via": `"port"`,
	"placement": `"direct"`, "lanes": `4`, "copies": `5`, "together": `2`, "replicas": `8`, "threads": `64`, "tile": `1024`}

// TestRows: each field of a Choice has a row, by which it is read, named, and ordered. JSON holds all of a Choice.
func TestRows(t *testing.T) {
	all := keys(reflect.TypeFor[Choice]())
	if len(all) != len(rows) || len(values) != len(rows) {
		t.Fatalf("%d fields, %d rows and %d values", len(all), len(rows), len(values))
	}
	read := func(text string) (c Choice) {
		r := strictjson.NewReader("c", strings.NewReader(text), strictjson.Options{What: "choice", MaxBytes: 1 << 10,
			MaxMemory: 1 << 20})
		r.Fields(c.Fields(r)...)
		if err := r.Finish(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return c
	}
	for _, key := range all {
		text := `{"` + key + `":` + values[key] + `}`
		base := Choice{InLanes: InLanes{Lanes: 8}}
		if key == "lanes" {
			base.Lanes = 0
		}
		c := read(text)
		if key != "lanes" {
			c.Lanes = 8
		}
		if c == base || Compare(c, base) == 0 || Compare(c, base) != -Compare(base, c) || c.String() == base.String() {
			t.Errorf("%s reads as %+v, is named %q and ordered %d", text, c, c, Compare(c, base))
		}
		var again Choice
		if out, err := json.Marshal(c); err != nil || json.Unmarshal(out, &again) != nil || again != c ||
			!strings.Contains(string(out), text[1:len(text)-1]) {
			t.Errorf("%+v is written %s: %v", c, out, err)
		}
	}
}

// TestNames: a choice is named by its fields, and its lanes and width have names of their own.
func TestNames(t *testing.T) {
	c := Choice{Program: "allreduce/hierarchical", InLanes: InLanes{Lanes: 16},
		Width: launch.Width{Replicas: 8, Threads: 512}}
	for got, want := range map[string]string{
		c.String(): "hierarchical Simple 16 lanes 8x512", c.LanesText(): " 16 lanes", c.WidthText(): " 8x512",
		c.Plain().String(): "hierarchical Simple 16 lanes", Choice{Width: launch.Width{Threads: 32}}.WidthText(): " x32",
		Choice{Width: launch.Width{Replicas: 2, Tile: 100}}.WidthText():  " 2/100",
		Choice{Width: launch.Width{Replicas: 2, Tile: 2048}}.WidthText(): " 2/2K"} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestUnfit: fields that do not go together are reported with the key of one.
func TestUnfit(t *testing.T) {
	for _, c := range []struct {
		of        Choice
		key, want string
	}{
		{Choice{}, "", ""},
		{Choice{Sided: Lowered, Protocol: 1}, "sided", "only programs of protocol Simple"},
		{Choice{Sided: TwoSided, Width: launch.Width{Replicas: 2}}, "replicas", "no replicas"},
		{Choice{Via: 2, Protocol: 1}, "via", "one-sided programs of protocol Simple"},
		{Choice{InLanes: InLanes{Lanes: 65}}, "lanes", "at most 64 lanes"},
		{Choice{InLanes: InLanes{Lanes: 2}, Sided: TwoSided}, "lanes", "which only one-sided"},
		{Choice{InLanes: InLanes{Copies: 2}}, "copies", "several lanes"},
		{Choice{InLanes: InLanes{Together: 2}}, "together", "several lanes"},
		{Choice{InLanes: InLanes{Lanes: 2, Together: 3}}, "together", "share a CTA"},
		{Choice{Width: launch.Width{Threads: 33}}, "threads", "multiple of 32"},
		{Choice{Width: launch.Width{Tile: 17}}, "tile", "multiples of 16"},
		{Choice{Width: launch.Width{Replicas: -1}}, "replicas", "at most"},
	} {
		if key, why := c.of.Unfit(); key != c.key || !strings.Contains(why, c.want) || (why == "") != (c.want == "") {
			t.Errorf("%+v: %q, %s", c.of, key, why)
		}
	}
}

package mscclpp

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
)

type object = map[string]any

// planSchema makes the schema of the reader's tables.
func planSchema() object {
	number := func(least, most uint64) object { return object{"type": "integer", "minimum": least, "maximum": most} }
	words := func(list ...string) object { return object{"enum": list} }
	boolean := object{"type": "boolean"}
	array := func(items any) object { return object{"type": "array", "items": items} }
	ref := func(name string) object { return object{"$ref": "#/$defs/" + name} }
	closed := func(properties object, required ...string) object {
		return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	ids := func(least, most int) object {
		return object{"type": "array", "items": ref("count"), "minItems": least, "maxItems": most}
	}
	buff := func(key string, of any) object {
		return closed(object{key: of, "index": ref("count"), "size": number(1, math.MaxInt32)}, key, "index", "size")
	}
	ranked, rankedPackets := buff("type", words("i", "o", "s")), buff("type", words("s"))
	ranked["properties"].(object)["rank"], rankedPackets["properties"].(object)["rank"] = ref("count"), ref("count")
	channels := array(object{"oneOf": []any{
		closed(object{"channel_type": words("memory", "port"), "connected_to": array(ref("count"))}, "channel_type",
			"connected_to"),
		closed(object{"channel_type": words("switch"), "buffer_type": words("i", "o", "s"),
			"rank_groups": array(closed(object{"size": number(2, math.MaxInt32), "ranks": object{"type": "array", "items": ref("count"), "minItems": 2, "uniqueItems": true}}, "size", "ranks"))},
			"channel_type", "buffer_type", "rank_groups"),
	}})
	remote := closed(object{"rank": ref("count"), "type": words("i", "o", "s"),
		"access_channel_types": object{"type": "array", "items": words("memory", "port"), "minItems": 1,
			"uniqueItems": true}}, "rank", "type", "access_channel_types")
	block := closed(object{"id": ref("count"), "ops": object{"type": "array", "items": ref("op"), "maxItems": MaxOps},
		"channels": array(closed(object{"channel_type": words("memory", "port", "switch"),
			"channel_ids": ids(0, MaxChannels), "buff": words("i", "o", "s")}, "channel_type", "channel_ids")),
		"remote_buffer_refs": array(closed(object{"access_channel_type": words("memory", "port"), "remote_buffer_ids": ids(0, MaxRemote)}, "access_channel_type", "remote_buffer_ids"))},
		"id", "ops", "channels")
	gpu := closed(object{"id": ref("count"), "input_chunks": ref("count"), "output_chunks": ref("count"),
		"scratch_chunks": ref("count"), "threadblocks": array(ref("block")), "channels": ref("channels"),
		"remote_buffers": array(remote), "semaphores": array(closed(object{"init_value": ref("count")}, "init_value"))},
		"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels", "remote_buffers")
	s := closed(object{"name": object{"type": "string", "maxLength": 1024}, "collective": words(collectives...),
		"protocol": words("Simple", "LL"), "inplace": boolean, "reuse_resources": boolean, "gpus": object{"type": "array", "items": ref("gpu"), "minItems": 1, "maxItems": codegen.MaxRanks},
		"num_threads_per_block": number(1, MaxThreads), "use_double_scratch_buffer": boolean,
		"buffer_alignment": ref("count"),
		"min_message_size": number(0, math.MaxInt32), "max_message_size": number(0, math.MaxUint64)},
		"name", "collective", "protocol", "inplace", "gpus")
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "An execution plan of MSCCL++"
	s["description"] = "As MSCCL++'s executor can run it. Indices and sizes are in chunks. An operation's channel_ids, switch_channel_id and buffer_id are indices in the lists of its block, and these in the lists of its rank; gpus and threadblocks stand at the place that is their id; the k-th channel from one rank to another of a type is the k-th back."
	defs := object{"count": number(0, math.MaxInt32), "gpu": gpu, "block": block,
		"local": buff("type", words("i", "o", "s")), "packets": buff("type", words("s")),
		"remote": buff("buffer_id", ref("count")), "switch": buff("switch_channel_id", ref("count")), "ranked-local": ranked,
		"ranked-packets": rankedPackets, "channels": channels, "ids": ids(0, ir.OpChannels), "threads": ids(1, ir.OpChannels),
		"semaphores": ids(1, ir.OpSemaphores), "reduce": words(reduceNames[:]...),
		"part": closed(object{"tb_id": ref("count"), "tbg_size": number(1, math.MaxInt32)}, planPartKeys...),
		"loop": closed(object{"unit_size": number(1, math.MaxUint32), "num_chunks": number(1, math.MaxInt32)}, planLoopKeys...)}
	var all, inner []any
	for i := range opRows {
		row := &opRows[i]
		for k, one := range planOpSchemas(row, ref, number) {
			name := "op-" + row.name + map[bool]string{true: "-port"}[k > 0]
			defs[name] = one
			all = append(all, ref(name))
			if row.kind != ir.ChLoop {
				inner = append(inner, ref(name))
			}
		}
	}
	defs["op"], defs["op-in-loop"] = object{"anyOf": all}, object{"anyOf": inner}
	s["$defs"] = defs
	return s
}

// schemaText is s as JSON, a definition on a line.
func schemaText(t *testing.T, s object) []byte {
	line := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	list := func(o object, skip string) string {
		var lines []string
		for _, k := range slices.Sorted(maps.Keys(o)) {
			if k != skip {
				lines = append(lines, line(k)+": "+line(o[k]))
			}
		}
		return strings.Join(lines, ",\n")
	}
	return []byte("{\n" + list(s, "$defs") + ",\n\"$defs\": {\n" + list(s["$defs"].(object), "") + "\n}\n}\n")
}

var letterDefs = map[byte]string{'l': "local", 'p': "packets", 'r': "remote", 'q': "remote", 'm': "switch",
	'n': "switch"}

// planOpSchemas returns the schemas of an operation: two if a port has other sources.
func planOpSchemas(row *opRow, ref func(string) object, number func(least, most uint64) object) []any {
	shapes := map[string][]string{} // types, by the shape of the sources
	for t, name := range channelTypeNames {
		if row.types == 0 || row.types&(1<<t) != 0 {
			shape := row.sources(ir.ChannelType(t))
			shapes[shape] = append(shapes[shape], name)
		}
	}
	all := []any{planOpSchema(row, row.src, shapes[row.src], ref, number)}
	if row.port != "" {
		all = append(all, planOpSchema(row, row.port, shapes[row.port], ref, number))
	}
	return all
}

func planOpSchema(row *opRow, src string, types []string, ref func(string) object,
	number func(least, most uint64) object) object {
	threads := "threads"
	if row.moves() {
		threads = "ids"
	}
	values := object{"name": object{"const": row.name}, "src_buff": operandsSchema(row, src, ref),
		"dst_buff": operandsSchema(row, row.dst, ref), "channel_ids": ref(threads), "channel_type": object{"enum": types},
		"reduce_op": ref("reduce"), "semaphore_ids": ref("semaphores"), "tbg_info": ref("part"),
		"barrier_id": number(0, MaxBarriers-1), "num_threadblocks": number(1, math.MaxInt32), "iter_context": ref("loop"),
		"ops": object{"type": "array", "items": ref("op-in-loop"), "maxItems": MaxOps - 1}}
	need, may := row.keys()
	properties, required := object{}, []string{}
	for i, key := range planOpKeys {
		if may&(1<<i) != 0 {
			properties[key] = values[key]
		}
		if need&(1<<i) != 0 {
			required = append(required, key)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// operandsSchema returns the schema of operands of a shape.
func operandsSchema(row *opRow, shape string, ref func(string) object) object {
	if shape == "" {
		return nil
	}
	var first []any
	for i := range len(shape) {
		def := letterDefs[shapeAt(shape, i)]
		if (def == "local" || def == "packets") && row.types == viaSwitch {
			def = "ranked-" + def
		}
		if shape[i] != '+' {
			first = append(first, ref(def))
		}
	}
	s := object{"type": "array", "prefixItems": first, "items": false, "minItems": len(first), "maxItems": len(first)}
	if shape[len(shape)-1] == '+' {
		s["items"], s["maxItems"] = first[len(first)-1], ir.OpOperands
	}
	return s
}

func compiledSchema(t *testing.T) func(text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
}

// TestSchemaIsOfTables: plan.schema.json is what the reader's tables say; MSCCLC_UPDATE=1 writes it.
func TestSchemaIsOfTables(t *testing.T) {
	text := schemaText(t, planSchema())
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile("plan.schema.json", text, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(text, Schema) {
		t.Error("plan.schema.json is not what the tables say: MSCCLC_UPDATE=1 writes it")
	}
}

// TestPlansAreOfSchema: all plans that are read are of the schema, as they came and as they are written, and changes
// that break its rules are not.
func TestPlansAreOfSchema(t *testing.T) {
	judge := compiledSchema(t)
	for _, file := range planFiles(t) {
		text, _, p := readPlanFile(t, file)
		f, err := PlanOf(p)
		if err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if err := Write(&written, f); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{text, written.Bytes()} {
			if err := judge(text); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	every, err := os.ReadFile(filepath.Join("testdata", "every.json"))
	if err != nil {
		t.Fatal(err)
	}
	const tb0, tb2 = "gpus/1/threadblocks/0/", "gpus/1/threadblocks/2/"
	for _, c := range [][2]string{
		{"name", "-"}, {"version", "1"}, {"collective", `"allreduc"`}, {"protocol", `"LL128"`}, {"gpus", "[]"}, {"num_threads_per_block", "4096"},
		{"min_message_size", "2147483648"}, {"max_message_size", "18446744073709551616"}, {"gpus/1/color", "1"}, {"gpus/1/channels", "-"},
		{"gpus/1/channels/0/channel_type", `"switch"`}, {"gpus/1/channels/2/rank_groups/0/ranks", "[1,1]"}, {"gpus/1/remote_buffers/0/access_channel_types", "[]"},
		{tb0 + "channels/0/channel_ids", many(17, "0")}, {tb0 + "remote_buffer_refs/0/remote_buffer_ids", many(17, "0")},
		{tb0 + "ops", many(65, `{"name":"nop"}`)}, {tb0 + "ops/0/name", `"glre"`}, {tb0 + "ops/0/channel_ids", "[0]"}, {tb0 + "ops/2/channel_ids", "-"},
		{tb0 + "ops/2/channel_ids", many(9, "0")}, {tb2 + "ops/6/channel_type", `"memory"`}, {tb0 + "ops/1/barrier_id", "16"},
		{tb0 + "ops/12/ops/0", `{"name":"pipeline","iter_context":{"unit_size":1,"num_chunks":1},"ops":[]}`}, {tb0 + "ops/5/src_buff", "[]"},
		{tb0 + "ops/5/src_buff/0/size", "0"}, {tb0 + "ops/5/src_buff/0/buffer_id", "0"}, {tb0 + "ops/5/src_buff/0/rank", "0"},
		{tb0 + "ops/6/src_buff", many(11, `{"type":"i","index":0,"size":1}`)}, {tb0 + "ops/8/reduce_op", `"prod"`}, {tb2 + "ops/4/src_buff/0/type", `"i"`},
	} {
		if judge(changed(t, every, c[0], c[1])) == nil {
			t.Errorf("%s = %s is of the schema", c[0], diag.Clip([]byte(c[1])))
		}
	}
}

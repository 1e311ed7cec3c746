package picture

import "mscclc/play"

// lookColours are the colours of looks. A medium is a hue, and a reduction is darker than a copy, so that readers who
// see few hues, and paper without colours, distinguish them. chromeColours are the nearest that about:tracing has.
var (
	lookColours = [play.NumLooks]string{
		play.CopyInside: "#c4c4c4", play.ReduceInside: "#505050", play.CopyNear: "#7cc4f0", play.ReduceNear: "#005a9c",
		play.CopyFar: "#f5b731", play.ReduceFar: "#b34700", play.CopyBoth: "#8cc56b", play.ReduceBoth: "#2f6b1f",
		play.Signals: "#a0529e", play.Waits: "#ececec",
	}
	chromeColours = [play.NumLooks]string{
		play.CopyInside: "grey", play.ReduceInside: "generic_work", play.CopyNear: "rail_response", play.ReduceNear: "light_memory_dump",
		play.CopyFar: "rail_idle", play.ReduceFar: "terrible", play.CopyBoth: "good", play.ReduceBoth: "olive",
		play.Signals: "detailed_memory_dump", play.Waits: "white",
	}
)

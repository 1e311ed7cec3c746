package msccl_test

import (
	"log"
	"os"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/lang"
)

// gather is an AllGather that sends to every other rank at once.
const gather = `algorithm gather(ranks = 8)
collective allgather(ranks, inplace = true)

for r in 0..ranks {
    for s in 0..ranks if r != s { chunk(r, input, 0).copy(s, output, r) }
}
`

// Compile an algorithm for microsoft/msccl, and write the XML that msccl loads.
func ExampleWrite() {
	target, err := codegen.TargetByName("msccl")
	if err != nil {
		log.Fatal(err)
	}
	opt := mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": 2}}, Target: target}
	p, err := mscclc.Compile("gather.mscl", []byte(gather), opt)
	if err != nil {
		log.Fatal(err)
	}
	if err := msccl.Write(os.Stdout, p, target); err != nil {
		log.Fatal(err)
	}

	// Output:
	// <algo name="gather" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1" minBytes="0" maxBytes="134217728">
	//   <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
	//     <tb id="0" send="1" recv="1" chan="0">
	//       <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//     </tb>
	//   </gpu>
	//   <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
	//     <tb id="0" send="0" recv="0" chan="0">
	//       <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//     </tb>
	//   </gpu>
	// </algo>
}

// Package limits has the size limits of a bundle. All code that writes or reads bundles checks these limits: package
// bundle, executor/abi, and the library in package runtime, through a header that go generate writes.
package limits

// A Limit is a bound of a bundle. Name is its constant's.
type Limit struct {
	Name  string
	Value uint64
	Doc   string
}

// The bounds, which All describes.
const (
	File        = 1 << 30
	Sections    = 1 << 16
	Ranks       = 16
	Name        = 63
	ImageName   = 39
	LeastTarget = 50
	MostTarget  = 999
	Rules       = 1 << 16
	Programs    = 1 << 12
	Arena       = 256 << 20
	Pinned      = 256 << 20
	PartAlign   = 256
	ChunkAlign  = 128
	Address     = 1 << 48
	CTAs        = 1 << 12
	Blocks      = Ranks * CTAs
	Replicas    = 1 << 12
	Threads     = 512
	Warp        = 32
	Tile        = 1 << 30
	TileAlign   = 16
	Chunks      = 1<<16 - 1
	Depth       = 1 << 16
	Stages      = 8
	ScaleBlock  = 1 << 20
)

// All is the table of bounds.
var All = []Limit{
	{"File", File, "the most bytes of a file"},
	{"Sections", Sections, "the most sections of a file"},
	{"Ranks", Ranks, "the most ranks of a set: a launch carries one address for each"},
	{"Name", Name, "the most bytes in the name of a device or of a program"},
	{"ImageName", ImageName, "the most bytes in the name of an image"},
	{"LeastTarget", LeastTarget, "the lowest GPU version of an image, as in sm_50"},
	{"MostTarget", MostTarget, "the highest GPU version of an image"},
	{"Rules", Rules, "the most rules of a set"},
	{"Programs", Programs, "the most programs of a set"},
	{"Arena", Arena, "the most bytes of a rank's arena, which other ranks write to"},
	{"Pinned", Pinned, "the most bytes of host memory of a rank, in a set for several nodes"},
	{"PartAlign", PartAlign, "offsets of scratch, packets and flags in an arena are multiples of it"},
	{"ChunkAlign", ChunkAlign, "the bytes from one chunk of scratch to the next are a multiple of it"},
	{"Address", Address, "the most bytes of scratch, packets or flags: addresses have 48 bits"},
	{"CTAs", CTAs, "the most CTAs of a launch on a rank"},
	{"Blocks", Blocks, "the most thread blocks of a program, over all ranks"},
	{"Replicas", Replicas, "the most replicas of a launch: the transport counts them in 16 bits"},
	{"Threads", Threads, "the most threads of a thread block: kernels are compiled for it"},
	{"Warp", Warp, "the threads of a thread block are a multiple of it"},
	{"Tile", Tile, "the most bytes of a tile"},
	{"TileAlign", TileAlign, "the bytes of a tile are a multiple of it, and not 0"},
	{"Chunks", Chunks, "the most chunks of a piece: a step counts them in 16 bits"},
	{"Depth", Depth, "the most copies of scratch: the transport numbers them in 16 bits"},
	{"Stages", Stages, "the most stages of an epilogue"},
	{"ScaleBlock", ScaleBlock, "the most elements of a row that share a scale"},
}

package main

import (
	"cmp"
	"fmt"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/epilogue"
	"mscclc/lang"

	"github.com/spf13/cobra"
)

// topics are help pages made from the tables that the compiler works by.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "passes", Short: "What the compiler does, pass by pass", Long: passesHelp()},
		{Use: "ops", Short: "The operations of a program's steps", Long: opsHelp()},
		{Use: "language", Short: "The .mscl language in brief", Long: languageHelp()},
		{Use: "channels", Short: "The level of channels: its words, and what show FILE channels has", Long: channelsHelp()},
		{Use: "targets", Short: "What programs are compiled for, and the limits of each", Long: targetsHelp()},
	}
}

func languageHelp() string {
	rows := []string{"STAGE\tARGUMENT\tWHAT IT DOES"}
	for kind := range epilogue.NumKinds {
		s := &epilogue.Stages[kind]
		argument := cmp.Or(strings.Join(epilogue.Arguments(kind), ", "), "-")
		if s.Block {
			argument += "; block = N"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", s.Name, argument, s.Doc))
	}
	return lang.Brief("The language in brief") + `

sum.then(STAGE, ...) finishes the rows of a complete sum on their way to the output, each stage once at most, as in
sum.then(residual, rms_norm(eps)).copy(r, output, 0). mscclc run, bench and simulate take such programs with --row N.
cast and quantise are the last stage, so a program has one of them. The stages are:

` + cli.Table(rows...)
}

func opsHelp() string {
	rows := []string{"STEP\tNAME\tWHAT IT DOES"}
	for op := range ir.NumOps {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", op, op.Info().Name, op.Info().Doc))
	}
	return `The steps of a thread block. src and dst are chunks of the rank's own memory; received is the next message of
the connection that the block receives from. The last three, of one-sided programs (--sided one), have lists of srcs and
dsts: chunks of any rank's memory, or flags; see mscclc show FILE --sided one.

` + cli.Table(rows...) + `

Where a program has an epilogue (then, of mscclc help language), an mv of a raw sum to output finishes its rows by the
stages, and an mv from output to output moves finished rows with all that the stages wrote. Steps of one-sided programs
end with words: final, its sum is complete; joint, it runs together with the step before it; enter and leave, it runs in
the first or the last tile iteration of a launch only.`
}

func channelsHelp() string {
	return lang.Brief("Channels") + `

What MSCCL++ calls these in its plans, and mscclc show FILE channels in its lines:

` + cli.Table("HERE\tIN A PLAN\tSHOWN AS\tWHAT IT DOES",
		"(by itself)\tnop\tmeet\tthe threads of a block synchronise",
		"barrier\tbarrier\tbarrier ID of N\tthe threads of N blocks synchronise",
		"signal, wait\tsignal, wait\tsignal, wait PEER@TYPE[CHANNEL]\tone signal on each channel",
		"relaxed = true\trlxsignal, rlxwait\trelaxed signal, relaxed wait\treports completion, and makes nothing visible; of a port: as signal, wait",
		"flush\tflush\tflush\twhat was put through the port has left",
		"acquire, release\tsem_acquire, sem_release\tacquire, release\ta semaphore of the rank",
		"put, get\tput, ppkt, get\teach SRC -> DST, ...\tpairs: each destination gets its source",
		"put and signal\tpws, pwsf\teach ... signal [flush]\tthe port signals, and is flushed, after it",
		"copy\tcopy, cpkt, upkt, rppkt\tmv SRC -> DST ...\teach destination gets the source",
		"reduce\tre, res, rre, rres, repkt, respkt, recpkt, recspkt\tmv SRC + ... -> DST ...\teach destination gets the sum of all sources",
		"put, get, allreduce (switch)\tgstore, gstorepkt, glres\tmv ... all:...@switch[N]\tthrough the switch, of all ranks",
		"pipeline\tpipeline\tloop UNIT of CHUNKS\tits body, UNIT bytes per loop iteration",
		"tb = [0, 1]\ttbg_info\tpart K/N\tpart K of N equal parts")
}

func targetsHelp() string {
	rows := []string{"TARGET\tSTEPS A BLOCK\tBLOCKS A RANK\tCHANNELS\tCHUNKS A STEP\tFUSED RECEIVES\tWHAT IT IS"}
	limit := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for _, t := range codegen.Targets {
		l := &t.Limits
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%v\t%s", t.Name, limit(l.Steps), limit(l.Blocks),
			limit(l.Channels), limit(l.Count), l.ReceiveFused, t.Doc))
	}
	return "A program that is larger than its target allows is refused, with the limit and a way out.\n\n" + cli.Table(rows...) + fmt.Sprintf(`

Plans of MSCCL++ (mscclpp) have operations in place of steps. Its executor has room for
  %d operations of a block, with the bodies of pipelines, and %d threads
  %d channels and %d remote buffers of a block and type, %d port channels of a rank
  %d channels, %d semaphores and %d sources or destinations of an operation
  %d barriers of a rank, and sizes and offsets of 32 bits`,
		mscclpp.MaxOps, mscclpp.MaxThreads, mscclpp.MaxChannels, mscclpp.MaxRemote, mscclpp.MaxPorts,
		ir.OpChannels, ir.OpSemaphores, ir.OpOperands, mscclpp.MaxBarriers)
}

func passesHelp() string {
	rows := func(oneSided bool) string {
		rows := []string{"PASS\tWHAT IT DOES\tGIVES"}
		for _, p := range compiling.Passes(oneSided) {
			if p.Required {
				p.Name += " *"
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%v", p.Name, p.Doc, p.Gives))
		}
		return cli.Table(rows...)
	}
	return `The passes in their order. A star marks a required pass. --opt PASS=off turns off another one, and -O0 all
others.

mscclc show FILE --after PASS prints what a pass leaves, and mscclc compile FILE --dump all writes it for every pass.

Two-sided programs, of sends and receives (--sided two):

` + rows(false) + `

One-sided programs, of moves, signals and waits (--sided one, --target mscclpp):

` + rows(true) + `

Every compilation ends with a proof of the program, whichever passes ran.`
}

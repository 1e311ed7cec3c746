// Package runtime holds the sources of a library that runs the programs of bundles in other processes, such as training
// jobs. A bundle is a file with proven programs, kernels, and rules that say which program runs which call. The library
// is C++ without libstdc++, exceptions or global constructors. This package builds it with g++. In
// the lists of the engine and of the front below, a folder of runtime/src includes only files of folders above it.
//
// A team is the state of one rank in one communicator that runs programs of a bundle: the rank's memory, its programs,
// and its connections to the teams of the other ranks. Unlike a team of NCCL, it is not a set of ranks. The engine
// reads bundles, and launches programs for teams:
//
//	why.h, sockets.h, sha256.h  why a function fails; options of sockets; hashes
//	bundle  the format (rows_gen.h); the reader, which checks each section when it is first used; the check of who owns a
//	        file
//	device  the GPUs of the process, and their kernels. All functions of a kernel image are loaded at once. If the
//	        driver loaded a function at its first launch, it would wait for running kernels
//	launch  the parameters of a launch, in the same bytes as executor/abi; few.cc has those of short launches
//	team    the engine's interface (engine.h). A team's memory, how it finds the other ranks' teams, which program it
//	        chooses for a call, the order of its launches over streams, its launches, how it fails, and how it ends
//	net     teams of several nodes: memory of the host, and connections to other nodes through the proxy of package
//	        transport
//
// The front has NCCL's functions, and calls the engine:
//
//	consensus  how ranks agree. Each function computes a new state from a state and an event, and sends nothing.
//	           meeting.h, hub.cc and rank.cc: what ranks tell each other when they meet. switch.cc: from which call on
//	           the ranks run programs in place of NCCL. learner.cc: which program is the fastest
//	front      what all parts of the front share: communicators (table.cc), calls, GPUs, settings (settings.cc); NCCL's
//	           functions (abi.h, names.h), where they are (find.cc, loaded.cc), and those that the library only passes
//	           on to NCCL (stubs.cc)
//	record     reports about a job: messages (say.cc), counts, times (clock.cc), metrics, the last calls (record.cc),
//	           ranges for profilers (nvtx.cc); files that are written while the job runs (watch.cc)
//	peers      sockets to other processes, which show when one has died (peers.cc); the end of a process by exit()
//	           (exit.cc); files for other processes (files.cc); the last calls of all ranks (board.cc), and which ranks
//	           wait for each other (waits.cc)
//	meeting    how the bytes of the messages of consensus/meeting.h move, and how the ranks of a communicator connect.
//	           One process has a hub, a server for the communicator (hub.cc, greet.cc). The unique id says where the
//	           hub listens (identity.cc). Each rank has one connection to the hub (line.cc). Later, all ranks exchange
//	           data over these connections (gather.cc)
//	learn      trials, which find the fastest program for a class of calls: those of one collective, element type and
//	           range of sizes. The first calls of the class are the trials. Messages of ranks (messages.cc), the
//	           results that are kept (file.cc), statistics
//	calls      collectives, which a program or NCCL runs (calls.cc, config.cc); groups; windows; kinds.cc, explained
//	           below
//	comms      how a communicator begins (comms.cc, made.cc) and ends (end.cc). All its ranks use the bundle, or none
//	           does (agree.cc, nodes.cc). The ranks allocate their memory at once or later (join.cc, ready.cc), or leave
//	           all calls to NCCL (skip.cc). alone.cc: communicators without NCCL
//
// What kinds.cc is for: NCCL connects ranks in the first call that needs it. In three cases it may do that in a thread
// of its own: NCCL is older than 2.28, the communicator is nonblocking, or the communicator was made in a group. In
// these cases, connecting can fail while a graph captures the call.
//
// A kind is all calls with the same collective, type, size and so on. By the rules of the bundle, NCCL runs the
// captured calls of some kinds. In the three cases above, NCCL also runs the first call of such a kind outside a graph,
// even if a program could run it. So the ranks are connected before a graph captures a call of this kind.
//
// executor/gpu/driver.c opens the driver's library. The folder host makes the CPU a device: it has a table of driver
// functions, and its launches run in executor/fibers/host.cc. The folder c has the interface of include/mscclc.h:
//
//	c/errors.cc, c/bundles.cc      versions, and the last error of each thread; bundles and their programs
//	c/star.h, c/hub.cc, c/line.cc  how ranks connect: a hub in the process that made the unique id, and one connection
//	                               of each rank to it
//	c/comms.cc, c/by_nccl.cc       communicators: how they begin, fail and end
//	c/load.cc, c/run.cc            the loading of a program, which must be the same on all ranks; runs
//	c/rows.cc                      sums with an epilogue (ir/epilogue), such as AllReduce with an RMSNorm
//	c/windows.cc                   memory that ranks register together. Direct programs need it: they access the user's
//	                               buffers of other ranks
//
// [Build] makes two libraries from the engine and the front: one that is loaded before NCCL (LD_PRELOAD), and one that
// replaces NCCL. [BuildC] makes the library of mscclc.h.
package runtime

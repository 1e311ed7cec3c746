// Package runtime holds the sources of the library that runs programs of bundles in other processes, such as training
// jobs: C++ without libstdc++, exceptions or global constructors. The package builds the library with g++. A folder of
// src includes only files of folders above it in these lists.
//
// The engine reads bundles and launches their programs:
//
//	why.h, sockets.h, sha256.h  why a function fails; options of sockets; hashes
//	bundle  the format (rows_gen.h); sections, which are read and checked at their first use; the owners that are trusted
//	device  GPUs of the process, and their kernels, loaded whole
//	launch  the numbers of a launch, in the same bytes as executor/abi; few.cc has those of short launches
//	team    the engine's interface (engine.h); teams: memory, join, choice, order over streams, launch, failure, end
//	net     teams of several nodes: memory of the host, links to other nodes by the proxy in package transport
//
// A team is one rank of a communicator whose ranks run programs of a bundle. The front has NCCL's functions, and calls
// the engine:
//
//	consensus  what ranks agree on, without sockets: functions of a state and an event. meeting.h and its hub.cc and
//	           rank.cc: how ranks meet; switch.cc: the call from which programs run; learner.cc: the fastest program
//	front      what all parts of the front share: communicators (table.cc), calls, GPUs; NCCL's functions (abi.h,
//	           names.h), where they are found (find.cc, loaded.cc), those only handed on (stubs.cc); settings.cc
//	record     reports about a job: messages (say.cc), counts, times (clock.cc), metrics, the last calls (record.cc),
//	           ranges for profilers (nvtx.cc); files that are written while the job runs (watch.cc)
//	peers      sockets to other processes, which show when one has died (peers.cc); the end of a process by exit()
//	           (exit.cc); files for other processes (files.cc); the last calls of all ranks (board.cc), and which of
//	           them wait for each other (waits.cc)
//	meeting    where ranks meet (identity.cc): the hubs of this process (hub.cc, greet.cc), a rank's line to its hub
//	           (line.cc), and rounds of ranks that have met (gather.cc)
//	learn      trials in the first calls of a class, which find the fastest candidate of a bundle: messages of ranks
//	           (messages.cc), the results that are kept (file.cc), statistics
//	calls      collectives: by a program, or by NCCL in order (calls.cc, config.cc); groups; windows; kinds.cc: the
//	           first call of a kind, which NCCL runs if it connects in threads of its own
//	comms      the code that makes communicators (comms.cc, made.cc) and ends them (end.cc): their ranks agree that all
//	           use the bundle, or none (agree.cc, nodes.cc), make memory at once or later (join.cc, ready.cc), or leave
//	           all calls to NCCL (skip.cc); alone.cc: communicators without NCCL
//
// executor/gpu/driver.c opens the driver's library. host makes the CPU a device: a table of driver functions, whose
// launches run in executor/cpu/host.cc. c has the interface of include/mscclc.h:
//
//	c/errors.cc, c/bundles.cc      versions and errors of threads; bundles and their programs
//	c/star.h, c/hub.cc, c/line.cc  how ranks meet: a hub in the process that made the unique id, and a line of each rank
//	c/comms.cc, c/by_nccl.cc       communicators: how they begin, fail and end
//	c/load.cc, c/run.cc            the loading of programs, which ranks compare; runs
//
// [Build] makes two libraries from the engine and the front: one that is loaded before NCCL (LD_PRELOAD), and one that
// replaces NCCL. [BuildC] makes the library of mscclc.h.
package runtime

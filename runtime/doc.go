// Package runtime holds the sources of the library that runs programs of bundles in processes of others: C++ without
// libstdc++, exceptions or global constructors. It builds them with g++.
//
// The engine reads bundles and launches their programs:
//
//	engine.h       what it offers: bundles, teams (a rank of a communicator), choices and launches
//	bundle_rows.h  the format of bundles
//	bundle*.cc     bundles: sections that are read and checked when they are first used
//	layout.cc      the numbers of a launch, in the same bytes as executor/abi; few.cc those of short launches
//	device.cc      GPUs of the process; module.cc their kernels, loaded whole
//	team*.cc       teams: memory, join, choice, order over streams, launch, failure, end; windows; several nodes
//	net*.cc        of teams of several nodes: memory of the host, links to other nodes by the proxy in package transport
//
// executor/gpu/driver.c opens the driver's library. The front is the interface of NCCL before the engine:
//
//	nccl_calls.cc, nccl_group.cc   collectives: by a program, or by NCCL in order; groups
//	nccl_comms.cc, nccl_end.cc     what makes communicators, and what ends them; errors
//	nccl_agree.cc, nccl_gather.cc  the agreement of ranks: all use the bundle, or none; nccl_nodes.cc of several nodes
//	nccl_windows.cc, nccl_files.cc windows: memory that ranks register together
//	nccl_peers.cc, nccl_board.cc   sockets that tell of dead processes; the last calls of all ranks
//	nccl_find.cc, nccl_stubs.cc    the search for NCCL, and functions that are only handed on
//	nccl_alone*.cc                 communicators without NCCL
//	nccl_say.cc, nccl_settings.cc  messages and counts; variables that have no meaning
//
// [Build] makes two libraries of these: one that stands before NCCL (LD_PRELOAD), and one that stands in its place.
package runtime

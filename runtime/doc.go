// Package runtime holds the sources of the library that runs programs of bundles in processes of others: C++ without
// libstdc++, exceptions or global constructors. It builds them with g++.
//
// The engine reads bundles and launches their programs:
//
//	engine.h       what it offers: bundles, teams (a rank of a communicator), choices and launches
//	bundle_rows.h  the format of bundles
//	bundle*.cc     bundles: sections that are read and checked when they are first used; trust.cc whose they may be
//	layout.cc      the numbers of a launch, in the same bytes as executor/abi; few.cc those of short launches
//	device.cc      GPUs of the process; module.cc their kernels, loaded whole
//	team*.cc       teams: memory, join, choice, order over streams, launch, failure, end; windows; several nodes
//	net*.cc        of teams of several nodes: memory of the host, links to other nodes by the proxy in package transport
//
// executor/gpu/driver.c opens the driver's library. host/*.cc are the host as a device: functions of a driver that run
// launches by executor/cpu/host.cc. c/*.cc are the interface of include/mscclc.h:
//
//	c/errors.cc, c/bundles.cc      versions and errors of threads; bundles and their programs
//	c/star.h, c/hub.cc, c/line.cc  how ranks meet: a hub in the process that made the unique id, and a line of each rank
//	c/comms.cc, c/by_nccl.cc       communicators: how they begin, fail and end
//	c/load.cc, c/run.cc            what ranks load, which they compare; runs
//
// The front is the interface of NCCL before the engine:
//
//	nccl_calls.cc, nccl_group.cc   collectives: by a program, or by NCCL in order; groups
//	nccl_config.cc                 collectives with a configuration of one call
//	nccl_kinds.cc                  the first call of a kind, which is NCCL's where that connects in threads of its own
//	nccl_comms.cc, nccl_end.cc     what makes communicators, and what ends them; errors
//	nccl_meeting*.cc               how ranks meet, without sockets: what the hub and what a rank does at each event
//	nccl_identity.cc, nccl_line.cc where ranks meet; a rank's line to the hub
//	nccl_hub.cc, nccl_greet.cc     the hubs of this process, and the connections to them
//	nccl_made.cc                   communicators that NCCL has made, and the threads in which their ranks agree
//	nccl_agree.cc, nccl_gather.cc  the agreement of ranks: all use the bundle, or none; nccl_nodes.cc of several nodes
//	nccl_join.cc, nccl_ready.cc    what becomes of ranks that fit together: memory, at once or after the first call
//	nccl_learn.cc                  which candidate of a bundle is fastest, by trials in the first calls of a class
//	nccl_learn_protocol.cc         what ranks tell each other of that, without sockets; nccl_learn_say.cc by sockets
//	nccl_learned.cc                what was learned, in statistics; nccl_learn_file.cc in a file
//	nccl_switch.cc                 how ranks go over from NCCL to programs, at the same call; nccl_skip.cc who does not
//	nccl_windows.cc, nccl_files.cc windows: memory that ranks register together
//	nccl_peers.cc, nccl_exit.cc    sockets that tell of dead processes; the end of a process by exit()
//	nccl_board.cc, nccl_waits.cc   the last calls of all ranks; which of them wait for each other
//	nccl_find.cc, nccl_loaded.cc   the search for NCCL; nccl_stubs.cc functions that are only handed on
//	nccl_alone.cc                  communicators without NCCL
//	nccl_say.cc, nccl_settings.cc  messages; variables that have no meaning
//	nccl_watch.cc, nccl_count.cc   files that are written while a job runs; counts of calls
//	nccl_metrics.cc, nccl_clock.cc metrics in Prometheus' format; times of some calls
//	nccl_record.cc, nccl_nvtx.cc   the last calls of each communicator; ranges for profilers
//	nccl_text.cc, nccl_words.cc    texts that grow, and files that are written at once; names
//
// [Build] makes two libraries of these: one that stands before NCCL (LD_PRELOAD), and one that stands in its place.
// [BuildC] makes that of mscclc.h.
package runtime

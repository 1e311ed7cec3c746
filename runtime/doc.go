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
//	team*.cc       teams: memory, join, choice, order over streams, launch, failure, end
//
// executor/gpu/driver.c opens the driver's library. Files named nccl* are the interface of NCCL in front of the engine.
package runtime

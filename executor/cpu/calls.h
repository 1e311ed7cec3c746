// The functions of package fibers. They are weak so that cgo can link this package alone, to see what it imports; a
// program has them, since package cpu imports fibers.
#pragma once
#include "../fibers/host.h"

#pragma weak mscclc_cpu_map
#pragma weak mscclc_cpu_unmap
#pragma weak mscclc_cpu_fibers
#pragma weak mscclc_cpu_threads
#pragma weak mscclc_cpu_fibers_onesided
#pragma weak mscclc_cpu_threads_onesided
#pragma weak mscclc_cpu_row_room
#pragma weak mscclc_cpu_fibers_rows
#pragma weak mscclc_cpu_threads_rows
#pragma weak mscclc_cpu_cell
#pragma weak mscclc_cpu_stack_use

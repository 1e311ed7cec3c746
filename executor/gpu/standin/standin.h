// A mock driver of GPUs, which executes: its GPUs are threads of the host, their
// memory is the host's, and a launch runs the kernel's sources from the same parameters:
// the layer that GPUs run (lanes.h), but for lines of two-sided programs. Tests build it as a shared library that
// has the names of both drivers (names.cc), and name it by MSCCLC_LIBCUDA or MSCCLC_LIBHIP.
//
// It is strict where a driver may be lax: a kernel begins only when all of its blocks have
// room beside those that run, who puts work into a full queue waits, memory of another GPU without peer access faults,
// and a handle of memory serves another process only.
#pragma once
#include "../../../kernels/abi/rows_onesided.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

enum Code {
  OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209,
  INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, NO_RESOURCES = 701, PEER_ALREADY = 704,
  NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905, UNKNOWN = 999
};

// What the GPUs are like: an H200, but for its memory, and for a stream's queue, which there holds about
// 1,024 launches.
enum { SMS = 132, SM_THREADS = 512, SM_BLOCKS = 16, MAJOR = 9, MINOR = 0, QUEUE = 256 };

typedef std::unique_lock<std::mutex> Lock;

struct Device {
  int number = 0;
  std::atomic<int> fault{0};
  std::mutex mu;
  std::condition_variable changed;
  u64 used = 0;            // bytes of memory
  u32 running = 0;         // threads' worth of blocks that run
  std::set<int> peers;     // whose memory it may access
  std::vector<struct Stream *> streams;
  struct Stream *null = nullptr;  // the stream that has no name, once it is used
  std::atomic<u64> holder{0};     // the thread that waits for room in the queue of that stream, or 0
};
std::vector<Device *> &devices();
void wait_for_driver();  // while another thread holds the lock of the calling thread's context
Device *&current();  // of the calling thread

typedef std::function<void()> Task;

// A Node is work of a graph: of each launch, begin gives what is to be done then. early has the node run as soon as
// what it depends on has run; of all others the last ones run first, so that a missing dependency shows.
struct Node {
  std::function<Task()> begin;
  std::set<size_t> after;
  bool early;
};

// A Graph is captured work.
struct Graph {
  u64 number;
  std::vector<Node> nodes;
  std::set<struct Stream *> streams;
  struct Stream *origin;
};

// A Stream is a thread with a queue. Streams and events are never freed: what is
// queued may name them.
struct Stream {
  Device *device;
  std::mutex mu;
  std::condition_variable changed;
  std::deque<Task> queue;
  u64 left = 0;  // tasks that are not over
  bool ended = false;
  Graph *capture = nullptr;
  std::set<size_t> leaves;  // the nodes that the next captured node depends on
};
Stream *new_stream(Device *d);
Stream *stream_of(Device *d, void *stream);  // that is named, or d's null stream
int enqueue(Stream *s, Task t);  // once there is room in the queue; or notes it in the graph that is being captured
void capture_node(Stream *s, std::function<Task()> begin);  // of a stream that is captured and locked
void drain(Stream *s);

struct Event {
  Device *device;
  std::mutex mu;
  std::condition_variable changed;
  u64 recorded = 0;     // how often
  std::set<u64> open;   // records that have not happened
  double at_ms = 0;
  Graph *capture = nullptr;  // that the last record is part of, and the nodes before it
  std::set<size_t> leaves;
};

// A Function is an entry of a module; run_kernel runs a launch of it and returns
// when all of its blocks have ended.
enum Entry {
  TWO_SIMPLE,
  TWO_LL,
  TWO_LINES,  // of a protocol whose packets are lines: it runs in the host's layer (two_sided.cc)
  ONE_ANY,
  ONE_SUM,
  ONE_AVG,
  ONE_COPY,
  ONE_LINES,
  FEW_SUM,
  FEW_COPY,
  FEW_LINES_SUM,
  FEW_LINES_COPY,
  FEW_ROWS,
  FEW_LINES_ROWS,
  ROWS_SUM,
  ROWS_LINES
};
struct Function {
  Device *device;
  Entry entry;
  bool traced;  // of a two-sided program: its parameters have a trace
  bool net;     // of an image that knows of other nodes
};
u32 blocks_per_sm(u32 threads);
int check_launch(const Function *f, u32 blocks, u32 threads, const std::string &params);
void run_kernel(const Function *f, u32 x, u32 y, u32 threads, const std::string &params);

// Memory. owner_of gives -1 for what is no memory of a GPU.
u64 memory_limit();  // bytes of a GPU
int memory_alloc(Device *d, u64 bytes, u64 *address);
int memory_free(u64 address);
void memory_fill(u64 address, u8 value, u64 bytes);
int memory_owner(u64 address, u64 *base, u64 *bytes);
int memory_share(u64 base, void *handle);
int memory_reach(Device *d, const void *handle, u64 *address);
int memory_leave(u64 address);
bool in_reach(Device *d, u64 address);

// Memory of the host that kernels may access.
void *host_alloc(u64 bytes);
bool host_free(void *p);
bool host_pin(void *p, u64 bytes);  // of another; false if some of it is pinned
bool host_unpin(void *p);
bool host_reaches(u64 address);

// Memory that is made and mapped in two steps, as both drivers have it.
struct gpu_location {
  int type, id;
};
struct gpu_properties {
  int type, handles;
  gpu_location location;
  void *metadata;
  u8 flags[8];
};
struct gpu_access {
  gpu_location location;
  int flags;
};
int physical_create(u64 *handle, u64 bytes, const gpu_properties *p);
int physical_release(u64 handle);
int physical_retain(u64 *handle, u64 address);
int physical_properties(gpu_properties *p, u64 handle);
int physical_export(void *file, u64 handle);
int physical_import(Device *d, u64 *handle, int file);
int memory_unit(size_t *bytes);
int memory_reserve(u64 *address, u64 bytes);
int memory_reserve_end(u64 address, u64 bytes);
int memory_map(u64 address, u64 bytes, u64 handle);
int memory_unmap(u64 address, u64 bytes);
int memory_get_access(unsigned long long *flags, const gpu_location *at, u64 address);
int memory_set_access(u64 address, u64 bytes, const gpu_access *list, size_t count);

// injected counts a call, and says what it is to fail with. A call that is not of a driver's
// API, "kernel", is a fault in a launch, and "few" in one of few packets.
int injected(const char *name);

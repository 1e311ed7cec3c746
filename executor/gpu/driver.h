// The drivers of NVIDIA's and AMD's GPUs as Go calls them: one table of functions,
// filled from either's library. All functions give 0 or an error of the driver,
// whose text mscclc_gpu_error has; those that take a card make it the calling
// thread's. After a fault of a card they give that and do nothing.
#pragma once
#include "../../kernels/abi/rows.h"

enum gpu_vendor { GPU_CUDA, GPU_HIP, GPU_VENDORS };
struct gpu_driver;

enum gpu_fact { FACT_MAJOR, FACT_MINOR, FACT_SMS, FACT_COUNT };

// A card is a GPU. Streams are the library's own: memory is for what clears memory, and
// side for words that a running kernel polls.
struct gpu_card {
  struct gpu_driver *driver;
  void *context, *memory, *side;
  int device, number, fault;
  int facts[FACT_COUNT];
  char name[256];
};

// mscclc_gpu_open opens a driver once. What it could not find is in why.
int mscclc_gpu_open(int vendor, struct gpu_driver **driver, const char **why);
const char *mscclc_gpu_error(struct gpu_driver *driver, int code);
int mscclc_gpu_version(struct gpu_driver *driver, int *version);
int mscclc_gpu_count(struct gpu_driver *driver, int *count);
int mscclc_gpu_card(struct gpu_driver *driver, int number, struct gpu_card *card);

// mscclc_gpu_name writes the name of a GPU to bytes that are zero. It makes no context.
int mscclc_gpu_name(struct gpu_driver *driver, int number, char *name, int bytes);

// mscclc_gpu_reach_kind writes how GPU a reaches the memory of GPU b. It makes no context. With MSCCLC_P2P_DISABLE=1,
// or NCCL_P2P_DISABLE=1 where that is not set, no GPU reaches another.
enum gpu_link { LINK_NONE, LINK_ACCESS, LINK_ATOMIC };  // not; by loads and stores; by atomics too, as on NVLink
int mscclc_gpu_reach_kind(struct gpu_driver *driver, int a, int b, enum gpu_link *link);

int mscclc_gpu_use(struct gpu_card *card);

// mscclc_gpu_pci writes the PCI address of a device, such as 0000:3b:00.0, or nothing where the driver does not say it.
void mscclc_gpu_pci(struct gpu_driver *d, int device, char *address, int bytes);
// mscclc_gpu_find returns the number of the GPU with a PCI address, or -1 where this process does not see it.
int mscclc_gpu_find(struct gpu_driver *d, const char *address);

// mscclc_gpu_apart says whether GPU a reaches no memory of GPU b. The driver does not say it of a GPU that this process
// does not see (-1), and such a GPU counts as reached.
int mscclc_gpu_apart(struct gpu_driver *d, int a, int b);

// mscclc_gpu_whole_lines says whether stores of 128 bytes by GPU a arrive at once in memory of GPU b. Over NVLink they
// do; over PCIe some words may arrive before others. NVLink is what has atomics. A GPU that this process does not see
// (-1) counts as reached over NVLink where GPU a is one of an NVLink switch's.
int mscclc_gpu_whole_lines(struct gpu_driver *d, int a, int b);

// mscclc_gpu_multicast says whether the driver offers multicast memory on a card.
int mscclc_gpu_multicast(struct gpu_card *card);

// mscclc_gpu_peer lets a card reach the memory of another. *can is 0 where it
// cannot.
int mscclc_gpu_peer(struct gpu_card *card, struct gpu_card *to, int *can);

// Memory is zeroed. What the owner of an address is: a card's number, or -1, and where
// the memory begins and how long it is.
int mscclc_gpu_alloc(struct gpu_card *card, u64 bytes, u64 *address);
int mscclc_gpu_free(struct gpu_card *card, u64 address);
int mscclc_gpu_owner(struct gpu_card *card, u64 address, int *number, u64 *base, u64 *bytes);

// Handles of memory, for other processes.
enum { GPU_HANDLE = 64 };
int mscclc_gpu_share(struct gpu_card *card, u64 base, void *handle);
int mscclc_gpu_reach(struct gpu_card *card, const void *handle, u64 *address);
int mscclc_gpu_leave(struct gpu_card *card, u64 address);

// Memory that was mapped, in segments (mapped.c): whether that is so at an address, access of a card to a segment, a
// file that another process can import (-1: it cannot be exported so), and what all segments are a multiple of.
enum { GPU_NO_CALL = -4 };
int mscclc_gpu_mapped(struct gpu_card *card, u64 address, int *mapped);
int mscclc_gpu_admit(struct gpu_card *card, u64 address, u64 bytes);
int mscclc_gpu_export(struct gpu_card *card, u64 address, int *file);
int mscclc_gpu_granularity(struct gpu_card *card, u64 *bytes);
int mscclc_gpu_import(struct gpu_card *card, const int *files, const u64 *bytes, u32 count, u64 *address);
int mscclc_gpu_import_end(struct gpu_card *card, u64 address, const u64 *bytes, u32 count);

// Copies from and to the host are over when they return; the rest has begun.
int mscclc_gpu_put(struct gpu_card *card, void *stream, u64 address, const void *from, u64 bytes);
int mscclc_gpu_get(struct gpu_card *card, void *stream, void *to, u64 address, u64 bytes);
int mscclc_gpu_copy(struct gpu_card *card, void *stream, u64 to, u64 from, u64 bytes);
int mscclc_gpu_fill(struct gpu_card *card, void *stream, u64 address, u8 value, u64 bytes);
int mscclc_gpu_zero(struct gpu_card *card, u64 address, u64 bytes);  // is over, too

int mscclc_gpu_stream(struct gpu_card *card, void **stream);
int mscclc_gpu_stream_end(struct gpu_card *card, void *stream);
int mscclc_gpu_busy(struct gpu_card *card, void *stream, int *busy);

int mscclc_gpu_event(struct gpu_card *card, void **event);
int mscclc_gpu_event_end(struct gpu_card *card, void *event);
int mscclc_gpu_record(struct gpu_card *card, void *event, void *stream);
int mscclc_gpu_await(struct gpu_card *card, void *stream, void *event);
int mscclc_gpu_happened(struct gpu_card *card, void *event, int *busy);
int mscclc_gpu_elapsed(struct gpu_card *card, void *begin, void *end, float *ms);

int mscclc_gpu_capture(struct gpu_card *card, void *stream);
int mscclc_gpu_capturing(struct gpu_card *card, void *stream, u64 *capture);  // its number, or 0
int mscclc_gpu_capture_end(struct gpu_card *card, void *stream, void **graph);
int mscclc_gpu_graph(struct gpu_card *card, void *graph, void *stream);
int mscclc_gpu_graph_end(struct gpu_card *card, void *graph);

// mscclc_gpu_module compiles PTX, or loads a code object; log gets what the compiler
// says.
int mscclc_gpu_module(struct gpu_card *card, const void *image, char *log, u32 log_bytes, void **module);
int mscclc_gpu_function(struct gpu_card *card, void *module, const char *name, void **function);

// mscclc_gpu_link has the driver's linker make machine code for a card of PTX, which ends in a zero byte; the caller
// frees it. log gets what the compiler says.
enum { GPU_NO_LINKER = -6, GPU_NO_MEMORY = -7, GPU_NO_PINS = -8 };
int mscclc_gpu_link(struct gpu_card *card, const void *ptx, u64 bytes, char *log, u32 log_bytes, void **code,
                    u64 *length);

// mscclc_gpu_blocks is how many blocks of `threads` threads a multiprocessor holds.
int mscclc_gpu_blocks(struct gpu_card *card, void *function, u32 threads, u32 *blocks);

// Words of the host that streams raise and are held by, by 8 bytes each.
int mscclc_gpu_words(struct gpu_card *card, u64 bytes, u64 **words);
int mscclc_gpu_words_end(struct gpu_card *card, u64 *words);

// mscclc_gpu_pin lets kernels of all GPUs access memory of the host, whole pages of it, at its own addresses.
// mscclc_gpu_pin_end ends that.
int mscclc_gpu_pin(struct gpu_card *card, u64 address, u64 bytes);
int mscclc_gpu_pin_end(struct gpu_card *card, u64 address);

int mscclc_gpu_raise(struct gpu_card *card, void *stream, u64 *word, u64 value);
int mscclc_gpu_hold(struct gpu_card *card, void *stream, u64 *word, u64 value);

// A port's proxy is a thread that makes copies for kernels: kernels/abi/rows_onesided.h says how they are asked for.
// It is made with the addresses of its lanes' ends on the card, and streams for a number of peers; start has it
// begin with lanes that are empty, failed is the error of a copy, after which it makes none, and stop returns when
// nothing is copied any more, or gives GPU_STUCK after limit_ns.
enum { GPU_STUCK = -3 };
struct gpu_port;
int mscclc_gpu_port(struct gpu_card *card, u32 lanes, u32 peers, u64 ends, struct gpu_port **port);
u64 mscclc_gpu_port_lanes(struct gpu_port *port);
int mscclc_gpu_port_start(struct gpu_port *port);
int mscclc_gpu_port_failed(struct gpu_port *port);
int mscclc_gpu_port_stop(struct gpu_port *port, u64 limit_ns);
int mscclc_gpu_port_end(struct gpu_port *port);  // of one that has stopped

// mscclc_gpu_relax lets the calling thread do all it likes while others capture.
int mscclc_gpu_relax(struct gpu_card *card);

// A prepared launch: its parameters lie after it.
struct gpu_prepared {
  void *function;
  u32 replicas, blocks, threads, bytes;
};

// A launch that is not captured (*capture is 0) is counted in *launched before it is launched, so that who has set
// *by_ticket finds there all that may yet come. Where *by_ticket is set already, nothing is launched, nor counted:
// GPU_OVERSUBSCRIBED. Without these two it is launched, and has been counted.
enum { GPU_OVERSUBSCRIBED = -5 };
int mscclc_gpu_launch(struct gpu_card *card, struct gpu_prepared *prepared, void *stream, u64 *launched,
                      const u32 *by_ticket, u64 *capture);

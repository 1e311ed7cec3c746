// The calls that tests have fail: FAULT(name, errno, what is called else). Each import of the library is in this list,
// or in that of calls that do not fail (unfailing in sites_linux_amd64_test.go). FAULT_NULLS are those that give a
// pointer, FAULT_MINUS those that give -1, and FAULT_CODES those that give an errno. The functions of
// transport/system.h stand here, too, since the place of a call is where one of these is called: FAULT_FALSE are those
// that give false, and FAULT_MINUS_ONE those that give -1.
#pragma once

#define FAULT_NULLS(FAULT)            \
  FAULT(malloc, ENOMEM, keep_malloc)  \
  FAULT(calloc, ENOMEM, keep_calloc)  \
  FAULT(realloc, ENOMEM, keep_realloc) \
  FAULT(strdup, ENOMEM, keep_strdup)  \
  FAULT(fopen, EMFILE, __real_fopen)    \
  FAULT(fgets, EIO, __real_fgets)       \
  FAULT(open_memstream, ENOMEM, __real_open_memstream) \
  FAULT(opendir, EMFILE, __real_opendir) \
  FAULT(readdir, EBADF, __real_readdir) \
  FAULT(realpath, EACCES, keep_realpath) \
  FAULT(dlsym, ENOENT, keep_dlsym)

// FAULT_LATE is what is called all the same, and then fails as it would without a fault of ours.
#define FAULT_LATE(FAULT) FAULT(dlopen, ENOMEM, keep_dlopen)

#define FAULT_MINUS(FAULT)               \
  FAULT(mmap, ENOMEM, keep_mmap)         \
  FAULT(accept4, EMFILE, __real_accept4)   \
  FAULT(access, EACCES, __real_access)     \
  FAULT(bind, EADDRINUSE, __real_bind)     \
  FAULT(connect, ECONNREFUSED, __real_connect) \
  FAULT(epoll_create, EMFILE, __real_epoll_create) \
  FAULT(epoll_create1, EMFILE, __real_epoll_create1) \
  FAULT(epoll_ctl, ENOSPC, __real_epoll_ctl) \
  FAULT(epoll_wait, EINVAL, __real_epoll_wait) \
  FAULT(eventfd, EMFILE, __real_eventfd)   \
  FAULT(fcntl, EMFILE, __real_fcntl)       \
  FAULT(fstat, EIO, __real_fstat)          \
  FAULT(ftruncate, ENOSPC, __real_ftruncate) \
  FAULT(gethostname, ENAMETOOLONG, __real_gethostname) \
  FAULT(getifaddrs, ENOBUFS, __real_getifaddrs) \
  FAULT(getpeername, ENOBUFS, __real_getpeername) \
  FAULT(getrandom, ENOSYS, __real_getrandom) \
  FAULT(getrlimit, EPERM, __real_getrlimit) \
  FAULT(getsockname, ENOBUFS, __real_getsockname) \
  FAULT(getsockopt, ENOBUFS, __real_getsockopt) \
  FAULT(listen, EADDRINUSE, __real_listen) \
  FAULT(madvise, EINVAL, __real_madvise)   \
  FAULT(memfd_create, EMFILE, __real_memfd_create) \
  FAULT(open, EMFILE, __real_open)         \
  FAULT(poll, ENOMEM, __real_poll)         \
  FAULT(pread, EIO, __real_pread)          \
  FAULT(read, EIO, __real_read)            \
  FAULT(readlink, EACCES, __real_readlink) \
  FAULT(recv, ECONNRESET, __real_recv)     \
  FAULT(rename, ENOSPC, __real_rename)     \
  FAULT(recvmsg, ECONNRESET, __real_recvmsg) \
  FAULT(sched_getaffinity, EPERM, __real_sched_getaffinity) \
  FAULT(send, ECONNRESET, __real_send)     \
  FAULT(sendmsg, ECONNRESET, __real_sendmsg) \
  FAULT(setenv, ENOMEM, __real_setenv)     \
  FAULT(setsockopt, ENOBUFS, __real_setsockopt) \
  FAULT(socket, EMFILE, __real_socket)     \
  FAULT(stat, EACCES, __real_stat)         \
  FAULT(sysconf, EINVAL, __real_sysconf)   \
  FAULT(write, ENOSPC, __real_write)       \
  FAULT(atexit, ENOMEM, __real_atexit)

#define FAULT_CODES(FAULT)                     \
  FAULT(posix_memalign, ENOMEM, keep_posix_memalign) \
  FAULT(pthread_atfork, ENOMEM, __real_pthread_atfork) \
  FAULT(pthread_create, EAGAIN, __real_pthread_create)

#define FAULT_FALSE(FAULT)        \
  FAULT(sys_read, EIO)            \
  FAULT(sys_read_at, EIO)         \
  FAULT(sys_write, ENOSPC)        \
  FAULT(sys_send, ECONNRESET)     \
  FAULT(sys_recv, ECONNRESET)     \
  FAULT(sys_recv_within, ETIMEDOUT) \
  FAULT(sys_random, ENOSYS)

#define FAULT_MINUS_ONE(FAULT)    \
  FAULT(sys_open, EMFILE)         \
  FAULT(sys_read_some, EIO)       \
  FAULT(sys_truncate, ENOSPC)     \
  FAULT(sys_text, EMFILE)         \
  FAULT(sys_send_now, ECONNRESET) \
  FAULT(sys_recv_now, ECONNRESET) \
  FAULT(sys_peek, ECONNRESET)     \
  FAULT(sys_send_message, ECONNRESET) \
  FAULT(sys_recv_message, ECONNRESET) \
  FAULT(sys_connect, ECONNREFUSED) \
  FAULT(sys_connect_now, ECONNREFUSED) \
  FAULT(sys_epoll, EINVAL)        \
  FAULT(sys_accept, EMFILE)       \
  FAULT(sys_poll, ENOMEM)

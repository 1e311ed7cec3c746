// This file has what the handles of mscclc.h are.
#pragma once
#include "../team/team.h"
#include "star.h"

// A bundle's handle. Its programs are listed when somebody first asks. bundle_keep has it stay open until the process
// ends. It gives false without memory.
struct mscclc_bundle_s {
  Bundle *bundle;
  pthread_mutex_t mu;  // guards what follows
  mscclc_program_info *list;
  int count;
  bool listed, kept;
};
bool bundle_keep(mscclc_bundle b);

// A program of a communicator: by the number of its rule.
struct mscclc_program_s {
  mscclc_programs_s *of;
  u32 rule, program;  // program: of the set
  mscclc_program_info info;
};

struct mscclc_programs_s {
  mscclc_comm_s *comm;
  Team *team;
  mscclc_program_s *list;
  u32 count;
  mscclc_programs_s *next;
};

// A registration of memory. The windows of all teams have its address as their name.
struct mscclc_window_s {
  mscclc_comm_s *comm;
  mscclc_window_s *next;
};

struct mscclc_comm_s {
  u32 ranks, rank;
  mscclc_device device;
  Gpu *host;                   // where device is MSCCLC_CPU
  Line *line;
  pthread_mutex_t mu;          // guards what follows
  mscclc_programs_s *programs;
  mscclc_window_s *windows;
  mscclc_result state;         // why it no longer works; read without mu, too
  char why[512];
};

// comm_fail notes why a communicator no longer works, unless that is known, and has its launches leave.
void comm_fail(mscclc_comm_s *c, mscclc_result result, const char *text);

// comm_state is the state, with the text of the thread's last error if it is not MSCCLC_OK. comm_looked looks at the
// launches first.
mscclc_result comm_state(mscclc_comm_s *c);
mscclc_result comm_looked(mscclc_comm_s *c);

// launch starts a call by a choice, or says why nothing runs it. launch_failed is the result of an error of the engine.
mscclc_result launch(mscclc_programs_s *p, const Choice &choice, const Call &call, void *stream);
mscclc_result launch_failed(mscclc_comm_s *c, int code);

// describe fills in info about a named program of a set. bundle_names lists those of a set.
void describe(const Set &set, u32 program, mscclc_program_info *info);
bool copy_info(const mscclc_program_info &from, mscclc_program_info *to);

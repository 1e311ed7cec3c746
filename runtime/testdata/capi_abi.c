/* This program prints what mscclc.h fixes: sizes, offsets, and numbers. TestInterfaceABI compares it with
 * capi_abi.golden. */
#include <mscclc.h>

#include <stdio.h>

#define NUMBER(n) printf(#n " %d\n", (int)(n))
#define SIZE(t) printf("sizeof " #t " %zu\n", sizeof(t))
#define FIELD(t, f) printf(#t "." #f " at %zu, %zu bytes\n", offsetof(t, f), sizeof(((t *)0)->f))

int main(void) {
  NUMBER(MSCCLC_ABI);
  NUMBER(MSCCLC_MAX_RANKS);
  NUMBER(MSCCLC_MAX_BUFFERS);
  NUMBER(MSCCLC_MAX_STAGES);
  NUMBER(MSCCLC_OK);
  NUMBER(MSCCLC_BAD_ARGUMENT);
  NUMBER(MSCCLC_BAD_USE);
  NUMBER(MSCCLC_SYSTEM);
  NUMBER(MSCCLC_DEVICE);
  NUMBER(MSCCLC_BAD_BUNDLE);
  NUMBER(MSCCLC_UNSUPPORTED);
  NUMBER(MSCCLC_MISMATCH);
  NUMBER(MSCCLC_TIMED_OUT);
  NUMBER(MSCCLC_REMOTE);
  NUMBER(MSCCLC_ABORTED);
  NUMBER(MSCCLC_FORKED);
  NUMBER(MSCCLC_F16);
  NUMBER(MSCCLC_BF16);
  NUMBER(MSCCLC_F32);
  NUMBER(MSCCLC_F64);
  NUMBER(MSCCLC_I8);
  NUMBER(MSCCLC_U8);
  NUMBER(MSCCLC_I32);
  NUMBER(MSCCLC_U32);
  NUMBER(MSCCLC_I64);
  NUMBER(MSCCLC_U64);
  NUMBER(MSCCLC_F8E4M3);
  NUMBER(MSCCLC_F8E5M2);
  NUMBER(MSCCLC_SUM);
  NUMBER(MSCCLC_PROD);
  NUMBER(MSCCLC_MIN);
  NUMBER(MSCCLC_MAX);
  NUMBER(MSCCLC_AVG);
  NUMBER(MSCCLC_ALLREDUCE);
  NUMBER(MSCCLC_ALLGATHER);
  NUMBER(MSCCLC_REDUCESCATTER);
  NUMBER(MSCCLC_ALLTOALL);
  NUMBER(MSCCLC_BROADCAST);
  NUMBER(MSCCLC_REDUCE);
  NUMBER(MSCCLC_GATHER);
  NUMBER(MSCCLC_SCATTER);
  NUMBER(MSCCLC_SENDRECV);
  NUMBER(MSCCLC_CUSTOM);
  NUMBER(MSCCLC_GPU);
  NUMBER(MSCCLC_CPU);
  NUMBER(MSCCLC_INPUT);
  NUMBER(MSCCLC_OUTPUT);
  SIZE(mscclc_result);
  SIZE(mscclc_unique_id);
  SIZE(mscclc_buffer);
  FIELD(mscclc_buffer, name);
  FIELD(mscclc_buffer, direction);
  FIELD(mscclc_buffer, units);
  SIZE(mscclc_program_info);
  FIELD(mscclc_program_info, size);
  FIELD(mscclc_program_info, name);
  FIELD(mscclc_program_info, ranks);
  FIELD(mscclc_program_info, collective);
  FIELD(mscclc_program_info, root);
  FIELD(mscclc_program_info, reduces);
  FIELD(mscclc_program_info, in_place);
  FIELD(mscclc_program_info, out_of_place);
  FIELD(mscclc_program_info, dtypes);
  FIELD(mscclc_program_info, buffers);
  FIELD(mscclc_program_info, buffer);
  printf("version of the header %d, of the library %d\n", MSCCLC_ABI, mscclc_abi());
  SIZE(mscclc_stage);
  FIELD(mscclc_stage, value);
  FIELD(mscclc_stage, reads);
  FIELD(mscclc_stage, wants);
  FIELD(mscclc_stage, writes);
  SIZE(mscclc_epilogue);
  FIELD(mscclc_epilogue, size);
  FIELD(mscclc_epilogue, stages);
  FIELD(mscclc_epilogue, stage);
  return 0;
}

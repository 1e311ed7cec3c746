// Programs with an epilogue: sums of the floats that have images for them.
#include "lanes.h"

#include "../../../kernels/few/rows.h"

namespace {

template <class T> void run_sums(Entry entry, const char *params, u32 block, u32 replica) {
  const abi_rows_launch &l = *(const abi_rows_launch *)params;
  const abi_few_rows_launch &few = *(const abi_few_rows_launch *)params;
  if (entry == FEW_ROWS) run_few_rows<T, RowsInPairs<T>>(few, replica);
  else if (entry == FEW_LINES_ROWS) run_few_rows<T, RowsInLines<T>>(few, replica);
  else if (entry == ROWS_SUM) run_onesided<RowLanes<T>>(l.one, block, replica);
  else run_onesided<RowLanes<T, RowLines>>(l.one, block, replica);
}

}  // namespace

void run_rows(Entry entry, u32 dtype, const char *params, u32 block, u32 replica) {
  switch (dtype) {
    case DT_F16: return run_sums<f16>(entry, params, block, replica);
    case DT_BF16: return run_sums<bf16>(entry, params, block, replica);
    case DT_F32: return run_sums<float>(entry, params, block, replica);
  }
}

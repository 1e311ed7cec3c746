// This file is what the engine's front knows of drivers.
#pragma once

// sure makes a call until it gives 0, some times at most. What ends things needs such calls, so one that fails is not
// the last.
template <typename F>
int sure(F call) {
  int code = call();
  for (int i = 1; i < 5 && code; i++) code = call();
  return code;
}

const char *driver_text(int code);

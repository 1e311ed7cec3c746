// This file is how functions say why they fail. Nothing needs libstdc++.
#pragma once
#include <stddef.h>

struct Why {
  char text[512];
};
void say(Why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cut(char *to, size_t size, const char *text);  // copies a text, and cuts it after a word, with "...", to fit

enum { WHY_ROOM = 380 };  // of the reasons that ranks tell each other

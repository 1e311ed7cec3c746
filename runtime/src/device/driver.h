// This file is what the engine's front knows of drivers.
#pragma once

enum { DRIVER_TRIES = 5 };  // of a call of the driver without which nothing can be ended

const char *driver_text(int code);

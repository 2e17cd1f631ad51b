/* nvml.h - what NVIDIA's management library says of a GPU at this moment, loaded at run time. Private to device/.
 *
 *     struct kw_device_state s;
 *     if (kw_nvml_look("0000:3b:00.0", &s)) ...                  // false: no library, or it does not know the device
 *
 * Our own declarations of what we use (NVML API reference). Any thread. */
#ifndef KW_DEVICE_NVML_H
#define KW_DEVICE_NVML_H

#include "device/device.h"

bool kw_nvml_look(const char *pci_bus_id, struct kw_device_state *out);

#endif

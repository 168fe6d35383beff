// Where V8 puts what a request needs.

import { setFlagsFromString } from 'node:v8';

/**
 * Everything is allocated in the young generation from here on. V8 watches what survives the first quick collections,
 * which come every few milliseconds while its heap is small, and allocates more of that kind in the old generation for
 * ever after. In a server that starts under load these are parts of requests: whatever they lead to was kept until the
 * next full collection, and each quick one stopped the router for 25 ms instead of 3.
 */
export function allocateYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

// One Express process in front of the back end, without a durable step: the lower bound of the comparison.

import { movieCall, type Peer } from './peer.ts';
import { startPeerProgram } from './servers.ts';

export const httpHop: Peer = {
  name: 'http-hop',
  title: 'plain HTTP hop',
  setup: 'one Express 4 process',
  durability: 'nothing',
  isSynced: false,
  async start(run, { backEndUrl }) {
    const { ready, pid } = await startPeerProgram(run, 'http-hop', { BENCH_BACK_END: backEndUrl });
    return { url: String(ready['url']), call: movieCall, pids: [pid] };
  },
};

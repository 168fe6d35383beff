// Tests of deprecated metric names in a scrape.

import { Gauge, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { withDeprecatedMetrics } from '../../../gateway/operations/deprecated-metrics.ts';

async function scrape(): Promise<string> {
  const registers = [new Registry()];
  new Gauge({ name: 'router_held_polls', help: 'Held polls', registers }).set(3);
  const labelNames = ['route', 'version'];
  const removed = new Gauge({ name: 'router_version_removed', help: 'Removed versions', labelNames, registers });
  removed.set({ route: 'movies', version: 2 }, 1);
  removed.set({ route: 'router_version_removed', version: 1 }, 0);
  return withDeprecatedMetrics(await registers[0]!.metrics());
}

describe('a deprecated metric', () => {
  it('has the type, labels and values of the current metric, and names that metric in the help text', async () => {
    expect(await scrape()).toBe(`# HELP router_held_polls Held polls
# TYPE router_held_polls gauge
router_held_polls 3

# HELP router_version_removed Removed versions
# TYPE router_version_removed gauge
router_version_removed{route="movies",version="2"} 1
router_version_removed{route="router_version_removed",version="1"} 0

# HELP router_parked_polls Deprecated: the same as router_held_polls
# TYPE router_parked_polls gauge
router_parked_polls 3

# HELP router_version_out Deprecated: the same as router_version_removed
# TYPE router_version_out gauge
router_version_out{route="movies",version="2"} 1
router_version_out{route="router_version_removed",version="1"} 0
`);
  });

  it('is absent when the current metric is absent', () => {
    expect(withDeprecatedMetrics('# HELP up x\n# TYPE up gauge\nup 1\n')).toBe('# HELP up x\n# TYPE up gauge\nup 1\n');
  });
});

#!/usr/bin/env node
// `npx service-router <verb>`: the CLI on the pinned Node, whatever Node runs this.

process.argv.splice(2, 0, 'cli/main.ts');
await import('../dev/setup/run.mjs');

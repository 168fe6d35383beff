#!/usr/bin/env node
// Executable of the CLI (`npx service-router <command>`). It runs the CLI with the pinned Node.

process.argv.splice(2, 0, 'cli/main.ts');
await import('../dev/setup/run.mjs');

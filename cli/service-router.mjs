#!/usr/bin/env node
// Executable of the CLI (`npx service-router <command>`). It runs the CLI with the pinned Node: from the sources in a
// checkout, compiled in the package.

import { existsSync } from 'node:fs';

const isCheckout = existsSync(new URL('../dev', import.meta.url));
process.argv.splice(2, 0, 'cli/main.ts');
await import(isCheckout ? '../dev/setup/run.mjs' : '../dist/dev/setup/run.mjs');

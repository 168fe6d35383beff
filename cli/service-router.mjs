#!/usr/bin/env node
// Executable of the CLI (`npx service-router <command>`). In a checkout, it runs the CLI from the sources; in
// the package, from the compiled files. Both use the pinned Node.

import { existsSync } from 'node:fs';

const isCheckout = existsSync(new URL('../dev', import.meta.url));
process.argv.splice(2, 0, 'cli/main.ts');
await import(isCheckout ? '../dev/setup/run.mjs' : '../dist/dev/setup/run.mjs');

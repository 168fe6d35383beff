// The command `test`: runs the tests of a gateway with the pinned Node, which runs TypeScript directly.

import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import type { CommandDefinition } from '../command-definition.ts';

/** The command `test`: runs every test file with Node's test runner. */
export const test: CommandDefinition<{ json?: boolean }> = {
  name: 'test',
  description: 'Run the tests of the gateway in this folder, one file at a time.',
  exitCodes: { 0: 'every test has passed', 1: 'a test has failed' },
  examples: [
    { command: 'test', does: 'run every test/**/*.test.ts' },
    { command: 'test test/hello.test.ts', does: 'run one file' },
  ],
  addOptions: (command) => command.argument('[files...]', 'files or patterns (default: test/**/*.test.ts)'),
  run: async ({ json = false }, { args, host }) => {
    const files = args.length === 0 ? ['test/**/*.test.ts'] : args;
    // Files run one after the other, because each file that starts a gateway also starts an engine.
    const flags = ['--disable-warning=ExperimentalWarning', '--test', '--test-concurrency=1'];
    // With --json, stdout is for the document of this command.
    const stdio: StdioOptions = ['inherit', json ? 2 : 'inherit', 'inherit'];
    const child = spawn(execPath, [...flags, ...files], { stdio, env: host.env });
    const [code] = (await once(child, 'exit')) as [number | null];
    const problems = code === 0 ? [] : ['a test has failed'];
    return { exitCode: code === 0 ? 0 : 1, lines: [], json: { ok: code === 0, problems } };
  },
};

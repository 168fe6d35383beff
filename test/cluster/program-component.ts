// One of the product's programs as a part of the cluster: what each of its lives wrote is kept in a file of the run.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../stack/program.ts';
import type { Component } from './component.ts';

export interface ProgramComponent extends Component {
  /** SIGTERM, and what it wrote goes to its file. */
  stop(): Promise<void>;
  output(): string;
}

/** @param options.first its first life */
export function programComponent(options: {
  readonly name: string;
  readonly dir: string;
  readonly first: Program;
  readonly launch: () => Promise<Program>;
}): ProgramComponent {
  const { name, dir, launch } = options;
  const file = join(dir, `${name.replaceAll(' ', '-')}.log`);
  let program: Program | undefined = options.first;
  const keep = () => {
    appendFileSync(file, program?.output() ?? '');
    program = undefined;
  };
  return {
    name,
    output: () => program?.output() ?? '',
    async kill() {
      await program?.kill();
      keep();
    },
    async start() {
      program = await launch();
    },
    async stop() {
      await program?.stop();
      keep();
    },
  };
}

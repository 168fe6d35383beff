// `register`: brings an engine's definitions in step with the files.

import { resolve } from 'node:path';
import { asConfigured } from '../conductor/definitions/activation.ts';
import { checkDefinitions } from '../conductor/definitions/check-definitions.ts';
import { readDefinitions } from '../conductor/definitions/load-definitions.ts';
import { type PlannedDefinition, type Registration, isInStep, register } from '../conductor/metadata/register.ts';
import { describeDifferences, titleOf, toJson } from './definition-lines.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from './engine-access.ts';
import { type ExitCode, type Outcome, VerbError } from './outcome.ts';
import { rootDir } from './root-dir.ts';
import { alignColumns } from './table.ts';
import type { Verb, VerbContext } from './verb.ts';

export interface RegisterVerbOptions extends EngineAccessOptions {
  readonly dir?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

export const registerVerb: Verb<RegisterVerbOptions> = {
  name: 'register',
  description: 'Register task definitions, workflows and event handlers. Doing it twice changes nothing.',
  exitCodes: {
    0: 'the engine has every definition as the files say',
    1: 'error: a definition is not valid, or the engine is out of reach or refused one',
    2: 'nothing was written: a published workflow version differs and --force was not given, or --dry-run found differences',
  },
  examples: [
    { command: 'register', does: 'bring the engine in step with the files; where nobody looks, as in a start script' },
    { command: 'register --dry-run', does: 'what would be done' },
  ],
  addOptions: (command) =>
    addEngineOptions(command)
      .option('--force', 'change published workflow versions as well (default: refuse)')
      .option('--dry-run', 'only show what would be done')
      .option('--dir <directory>', 'directory with workflows/ and event-handlers/ (default: the product)'),
  run: runRegister,
};

export async function runRegister(options: RegisterVerbOptions, { host }: Pick<VerbContext, 'host'>): Promise<Outcome> {
  const definitions = readDefinitions(resolve(options.dir ?? rootDir));
  const problems = checkDefinitions(definitions);
  if (problems.length > 0) throw new VerbError(problems);
  const engine = await openEngine(options, host);
  try {
    const { force = false, dryRun = false } = options;
    return describe(
      await register(asConfigured(definitions, engine.config), engine.api, { force, dryRun }),
      engine.address,
    );
  } finally {
    await engine.close();
  }
}

function describe(registration: Registration, address: string): Outcome {
  const { outcome, definitions } = registration;
  const exitCode: ExitCode = outcome === 'done' || (outcome === 'planned' && isInStep(definitions)) ? 0 : 2;
  return {
    exitCode,
    lines: [...describeDefinitions(definitions), '', conclusion(registration, address)],
    json: { ok: exitCode === 0, engine: address, outcome, definitions: definitions.map(toJson) },
  };
}

function describeDefinitions(definitions: readonly PlannedDefinition[]): string[] {
  const titles = alignColumns(definitions.map((item) => [item.state, item.kind, titleOf(item)]));
  return definitions.flatMap(({ differences }, index) => [titles[index] ?? '', ...describeDifferences(differences)]);
}

function conclusion({ outcome, definitions }: Registration, address: string): string {
  const count = (state: PlannedDefinition['state']) => definitions.filter((item) => item.state === state).length;
  const counts = `${count('created')} created, ${count('changed')} changed, ${count('unchanged')} unchanged`;
  switch (outcome) {
    case 'done':
      return `${address}: ${counts}`;
    case 'planned':
      return `${address}: nothing was written (--dry-run); it would be ${counts}`;
    case 'refused':
      return `${address}: nothing was written: a published workflow version differs. Give it a new version, or overwrite it with --force`;
  }
}

// Tests of shell completion: the words that it offers, and the scripts for bash, zsh and fish.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bashScript } from '../../cli/commands/completion/bash.ts';
import { fishScript } from '../../cli/commands/completion/fish.ts';
import { type CommandWords, describeWords } from '../../cli/commands/completion/words.ts';
import { zshScript } from '../../cli/commands/completion/zsh.ts';
import { createProgram } from '../../cli/program.ts';
import { toGroup } from '../../cli/command-definition.ts';
import { runCli } from './run-cli.ts';
import { requires } from '../run/requirements.ts';

/** The product's program with an additional command group that has options of every kind. */
function program(): Command {
  const list = new Command('list')
    .description("Find executions; those of today's clients.")
    .option('--state <state>', 'only those')
    .option('-o, --out <file>', 'where to');
  list.options[0]?.choices(['running', 'failed']);
  return createProgram().addCommand(toGroup('samples', 'Look at executions.', [list]));
}

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'completion-'));
  mkdirSync(join(dir, 'candidate'));
  writeFileSync(join(dir, 'report.json'), '');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Returns bash's completions of the last word. */
function completeInBash(...words: string[]): string[] {
  const script = `${bashScript(describeWords(program()))}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _service_router; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-c', script, 'bash', 'service-router', ...words], {
    cwd: dir,
    encoding: 'utf8',
  });
  return output.split('\n').filter((line) => line !== '');
}

describe('words of the command line', () => {
  const wordsOf = (path: string) => describeWords(program()).find((place) => place.path === path) as CommandWords;

  it('include every command of the help and every command group', () => {
    const names = program().commands.map((command) => command.name());
    expect(wordsOf('').commands.map(({ text }) => text)).toEqual([...names, 'help']);
    expect(wordsOf('/samples').commands.map(({ text }) => text)).toContain('list');
  });

  it('say whether the value of an option is a known word, a file or a directory', () => {
    expect(wordsOf('/samples/list').optionValues).toEqual([
      { flags: ['--state'], value: { words: ['running', 'failed'] } },
      { flags: ['--out', '-o'], value: 'file' },
    ]);
    expect(wordsOf('/check').optionValues).toEqual([{ flags: ['--dir'], value: 'directory' }]);
  });
});

describe('completion in bash', () => {
  it('names with spaces: offered whole', () => {
    mkdirSync(join(dir, 'my gateway'));
    writeFileSync(join(dir, 'my report.json'), '');
    expect(completeInBash('check', '--dir', 'my')).toEqual(['my gateway']);
    expect(completeInBash('samples', 'list', '--out', 'my')).toEqual(
      expect.arrayContaining(['my gateway', 'my report.json']),
    );
  });

  it.each([
    [[''], ['check', 'status', 'samples', 'help']],
    [['ch'], ['check']],
    [['check', '--c'], ['--config']],
    [['check', '--dir', ''], ['candidate']],
    [['samples', 'li'], ['list']],
    [
      ['samples', 'list', '--state', ''],
      ['running', 'failed'],
    ],
    [['samples', 'list', '--out', 're'], ['report.json']],
    [
      ['samples', 'list', '--out', 'report.json', '-'],
      ['--state', '--out', '-o', '--help'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('%j: offers %j', (words, expected) => {
    expect(completeInBash(...words)).toEqual(expect.arrayContaining(expected));
  });

  it('the value of an option without a known set of values: offers nothing', () => {
    expect(completeInBash('status', '--engine', '')).toEqual([]);
  });
});

describe.each([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
] as const)('the script for %s', (shell, toScript) => {
  it('contains every command and every option', () => {
    const script = toScript(describeWords(program()));
    for (const { commands, options } of describeWords(program())) {
      for (const { text } of commands) expect(script).toContain(text);
      for (const { text } of options) expect(script).toContain(shell === 'fish' ? text.replace(/^--?/, '') : text);
    }
  });

  it(`${shell} accepts it without an error`, requires(shell), () => {
    // The script is in a file, because fish cannot read it from the socket that Node passes as standard input.
    const file = join(dir, `script.${shell}`);
    writeFileSync(file, toScript(describeWords(program())));
    expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });

  it('is what `completion` prints', async () => {
    const { exitCode, stdout } = await runCli(['completion', shell]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: toScript(describeWords(createProgram())) });
  });
});

it('an unknown shell: refused with the list of known shells, exit 1', async () => {
  const { exitCode, stderr } = await runCli(['completion', 'tcsh']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
});

// Tests of the confirmation prompt: which answers confirm, and when `--yes` is required instead.

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm } from '../../cli/confirmation.ts';

const ask = { yes: false, json: false };

/** Returns a terminal whose operator types `answer`, or closes the terminal when `answer` is undefined. */
function operator(answer: string | undefined) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = new PassThrough();
  if (answer === undefined) input.end();
  else input.write(`${answer}\n`);
  return { input, output };
}

describe('confirmation', () => {
  it.each(['y', 'yes', ' Y ', 'YES'])('%j confirms', async (answer) => {
    const terminal = operator(answer);
    await confirm('Change 3 definitions?', ask, terminal);
    expect(String(terminal.output.read())).toContain('Change 3 definitions? [y/N] ');
  });

  it.each(['', 'n', 'no', 'yesterday', undefined])('%j does not confirm', async (answer) => {
    await expect(confirm('Sure?', ask, operator(answer))).rejects.toThrow(
      'nothing was changed: the answer was not yes',
    );
  });

  it('no terminal: refused with a message that --yes is needed', async () => {
    const terminal = { input: new PassThrough(), output: new PassThrough() };
    await expect(confirm('Sure?', ask, terminal)).rejects.toThrow('confirmation needs a terminal; use --yes');
  });

  it('--json: refused even on a terminal, because the preview is not shown', async () => {
    await expect(confirm('Sure?', { yes: false, json: true }, operator('y'))).rejects.toThrow('--json needs --yes');
  });

  it('--yes: asks no question', async () => {
    const terminal = operator('no');
    await confirm('Sure?', { yes: true, json: false }, terminal);
    expect(terminal.output.read()).toBeNull();
  });
});

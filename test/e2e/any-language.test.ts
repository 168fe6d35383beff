// Tests that the worker in docs/how-to/write-a-worker-in-any-language.md, exactly as on the page, works through the
// router.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { codeBlocksOf, readPage } from '../docs/pages.ts';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const name = `page-${randomBytes(4).toString('hex')}`;
const definitions = ['--engine', engineUrl, '--only', `*${name}*`, '--yes'];
const copy = copyOfProduct();
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
const sample = codeBlocksOf(readPage('docs/how-to/write-a-worker-in-any-language.md')).find(
  ({ language }) => language === 'python',
)!.text;

let stack: Stack;
let demo: Caller;
const started: ChildProcess[] = [];

beforeAll(async () => {
  // The path has an MIS code, so that the worker can also work in a domain.
  const path = `/${name}/:mis/*`;
  const options = ['--path', path, '--methods', 'GET,PATCH', '--url', 'http://127.0.0.1:9/', '--dir', copy.dir];
  const added = await runCli(['add-route', name, ...options]);
  expect(added).toMatchObject({ exitCode: 0 });
  copy.replace('gateway.config.yml', `strip: /${name} `, `strip: /${name}, domainOf: mis `);
  expect(await runCli(['apply', ...definitions, '--dir', copy.dir])).toMatchObject({ exitCode: 0 });
  stack = await shareStack({
    engineUrl,
    router: { ROUTER_GATEWAYCONFIGFILE: join(copy.dir, 'gateway.config.yml') },
  });
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  for (const child of started) child.kill();
  await stack?.stop();
  copy.dispose();
  await runCli(['apply', '--prune', ...definitions]);
});

/** Starts the worker from the page. */
function startWorker(env: Record<string, string> = {}): ChildProcess {
  const file = join(copy.dir, 'worker.py');
  writeFileSync(file, sample);
  const { PATH, HOME } = process.env;
  const settings = {
    ROUTER: stack.url,
    TASK_TYPE: `${name}_intake`,
    CLIENT_ID: 'worker',
    CLIENT_SECRET: 'worker-secret',
  };
  const child = spawn('python3', [file], { env: { PATH, HOME, ...settings, ...env } });
  started.push(child);
  return child;
}

const askedOf = async (path: string) => {
  const answer = await demo(`/${name}/${path}`);
  return [answer.status, answer.text];
};

describe.skipIf(!hasPython)('the Python worker from the page', () => {
  it('gets the tasks of the default pool, and its results are the responses', async () => {
    startWorker();
    const paths = Array.from({ length: 5 }, (_, n) => `001/books/${n}`);
    for (const [n, response] of (await Promise.all(paths.map(askedOf))).entries())
      expect(response).toEqual([200, `{"asked": "GET /001/books/${n}"}`]);
  });

  it('with a domain, gets the tasks of that domain', async () => {
    startWorker({ DOMAIN: '002' });
    expect(await askedOf('002/books')).toEqual([200, '{"asked": "GET /002/books"}']);
  });

  it('survives a restart of the router', async () => {
    await stack.router.stop();
    await stack.restartRouter();
    expect(await askedOf('001/books')).toEqual([200, '{"asked": "GET /001/books"}']);
  });

  it('with a wrong secret, exits and reports 401', async () => {
    const child = startWorker({ CLIENT_SECRET: 'wrong' });
    const [errors, [exitCode]] = await Promise.all([text(child.stderr!), once(child, 'exit') as Promise<[number]>]);
    expect(exitCode).toBe(1);
    expect(errors).toContain('HTTP Error 401');
  });
});

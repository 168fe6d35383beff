// Runs the commands in the README, the tutorials and the how-tos unchanged, and tests that they print what the pages
// show.

import { afterAll, beforeAll, describe, it } from 'vitest';
import { isRun, readSamples, samplePages } from '../docs/samples/samples.ts';
import { SampleRunner } from '../docs/samples/run-samples.ts';
import { runCli } from '../cli/run-cli.ts';
import { byDepth } from '../run/depth.ts';
import { requires } from '../run/requirements.ts';
import { stopIdleWorkers } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

describe('the samples of the documentation', { ...requires('bash', 'git', 'curl'), timeout: 240_000 }, () => {
  const engineUrl = engineOfRun().url;
  let runner: SampleRunner;
  beforeAll(async () => {
    await stopIdleWorkers();
    // At full depth, `npm start` starts its own engine, as it does for a reader.
    runner = new SampleRunner(byDepth(engineUrl, undefined));
  });
  afterAll(async () => {
    await runner.stop();
    await runCli(['apply', '--yes', '--prune', '--engine', engineUrl, '--only', `*${runner.routeName}*`]);
  });

  describe.each([
    ['the first steps', samplePages.firstSteps, {}],
    ['the other pages', samplePages.others, requires('full')],
  ])('%s', (_title, pages, options) => {
    it.each(pages.filter((page) => readSamples(page).some(isRun)))('%s', options, (page) => runner.runPage(page));
  });
});

// The additional steps of a run at full depth: fault injection runs, one after the other.

import { type Requirement, whyNot } from './requirements.ts';
import { seedOfRun } from './seed.ts';
import { type EndedStep, runStep, type Step } from './steps.ts';

interface WholeRun extends Step {
  readonly needs: readonly Requirement[];
}

const wholeRuns = (): readonly WholeRun[] => {
  const faults = ['test/faults/main.ts', '--dry', '--slack', '3', '--seed', seedOfRun()];
  const cluster = ['--store', 'postgresql', '--engines', '2', '--routers', '2'];
  return [
    { title: 'faults', command: [...faults, '--tries', '1'], needs: [] },
    {
      title: 'kills of two engines and two routers',
      command: [...faults, ...cluster, '--case', 'kills-under-load', '--kills', '8', '--requests', '600'],
      needs: ['postgresql', 'redis'],
    },
    {
      title: 'kills of an engine on Redis and of its Redis',
      command: [...faults, '--store', 'redis', '--case', 'engine-and-its-redis-killed', '--kills', '6'],
      needs: ['redis'],
    },
  ];
};

/** Runs the steps in the folder `dir`, one at a time, because they kill and freeze processes and check times. */
export async function runWholeRuns(dir: string): Promise<EndedStep[]> {
  const ended: EndedStep[] = [];
  for (const { needs, ...step } of wholeRuns()) {
    const reason = whyNot(needs);
    if (reason === '') ended.push(await runStep(step, dir));
    else process.stdout.write(`── ${step.title}: not run, ${reason}\n`);
  }
  return ended;
}

// What a run in full depth does besides the tests: the whole runs that break things, one after the other.

import { type Requirement, whyNot } from './requirements.ts';
import { seedOfRun } from './seed.ts';
import { type EndedStep, runStep, type Step } from './steps.ts';

interface WholeRun extends Step {
  readonly needs: readonly Requirement[];
}

const wholeRuns = (): readonly WholeRun[] => [
  { title: 'faults', command: ['test/faults/main.ts', '--tries', '1', '--slack', '3', '--dry'], needs: [] },
  {
    title: 'faults of the topology',
    command: ['test/cluster/main.ts', '--seed', seedOfRun()],
    needs: ['postgresql', 'redis'],
  },
  {
    title: 'kills under PATCHes',
    command: [
      ...['test/jobs/reconcile/kill/main.ts', '--database', 'postgresql', '--engines', '2'],
      ...['--kills', '8', '--seed', seedOfRun()],
    ],
    needs: ['postgresql'],
  },
];

/** Runs them below `dir`: they kill and freeze processes, and judge times. */
export async function runWholeRuns(dir: string): Promise<EndedStep[]> {
  const ended: EndedStep[] = [];
  for (const { needs, ...step } of wholeRuns()) {
    const reason = whyNot(needs);
    if (reason === '') ended.push(await runStep(step, dir));
    else process.stdout.write(`── ${step.title}: not run, ${reason}\n`);
  }
  return ended;
}

// A reporter for vitest: prints the seed at the start of a run and the table at its end. If TEST_RECORD names a file,
// the reporter writes the record to that file instead.

import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import { type FileRecord, type RunRecord, toTable } from './record.ts';
import { seedOfRun } from './seed.ts';

export default class RunReporter implements Reporter {
  onInit(): void {
    if (process.env['TEST_RECORD'] === undefined) process.stdout.write(`TEST_SEED=${seedOfRun()}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const record: RunRecord = { files: modules.map(toFileRecord), errors: errors.map(({ message }) => message) };
    const { TEST_RECORD: file } = process.env;
    if (file === undefined) process.stdout.write(`\n${toTable(record).join('\n')}\n`);
    else writeFileSync(file, JSON.stringify(record));
  }
}

function toFileRecord(module: TestModule): FileRecord {
  const tests = [...module.children.allTests()];
  const inState = (state: string) => tests.filter((test) => test.result().state === state);
  const brokenGroups = [module, ...module.children.allSuites()].filter((group) => group.errors().length > 0);
  const reasons = Map.groupBy([...inState('skipped'), ...inState('pending')], reasonOf);
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return {
    file: module.relativeModuleId,
    seconds: (collectDuration + setupDuration + duration) / 1_000,
    passed: inState('passed').length,
    failed: [
      ...inState('failed').map((test) => test.fullName),
      ...brokenGroups.map((group) => `set-up: ${group.errors()[0]?.message.split('\n')[0]}`),
    ],
    notRun: [...reasons].map(([reason, skipped]) => ({ reason, tests: skipped.length })),
  };
}

/** Returns why a test did not run: a missing requirement, a failed set-up, a reason of its own, or a filter. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  if (result.state === 'skipped' && result.note !== undefined) return result.note;
  for (let task: TestCase | TestSuite | TestModule = test; ; task = task.parent) {
    const { notRun } = task.meta();
    if (notRun !== undefined) return notRun;
    if (task.type !== 'test' && task.errors().length > 0) return 'its set-up failed';
    if (task.type === 'module') return 'not selected';
  }
}

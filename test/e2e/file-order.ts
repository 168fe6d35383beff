// The order in which files of the suite start: files that use the same processes follow each other, large ones first.

import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files with their own stack or engine, then shared stacks without workers, then shared stacks with other options;
 * files with the usual shared stack come last.
 */
const patterns = [
  /\b(?:launchStack|startStack|startWorld|startFaultEngine|startPreparedEngine|SampleRunner)\(/,
  /\bwithWorkers: false\b|\bversioned-routers\b|\battacked-stack\b/,
  /shareStack\((?!\{ engineUrl(?:: engineOfRun\(\)\.url)? \}\))/,
];

export default class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { suite = [], others = [] } = Object.groupBy(await super.sort(files), ({ project }) =>
      project.name === 'e2e' ? 'suite' : 'others',
    );
    const ranked = suite.map((file) => {
      const text = readFileSync(file.moduleId, 'utf8');
      const kind = patterns.findIndex((pattern) => pattern.test(text));
      return { file, kind: kind === -1 ? patterns.length : kind, length: text.length };
    });
    const sorted = ranked.toSorted((one, other) => one.kind - other.kind || other.length - one.length);
    return [...others, ...sorted.map(({ file }) => file)];
  }
}

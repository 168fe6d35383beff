// The order in which files of the suite start: those that use the same processes one after the other, large ones first.

import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files with a stack or an engine of their own; then those whose shared stack has no workers; the usual stack comes last. */
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

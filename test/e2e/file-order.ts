// A Vitest sequencer for the end-to-end tests: files that use the same processes follow each other, large files first.

import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Kinds of files in the order in which they run: files with their own stack or engine, with a shared stack without
 * workers, and with a shared stack with other options. Files with the default shared stack come last.
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

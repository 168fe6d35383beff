// Entry point of `npm run sbom`, `npm run licences` and `npm run audit`.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readAudit } from './audit.ts';
import { licenceOf, licenceProblems } from './licences.ts';
import { readLockFile } from './lock-file.ts';
import { createSbom } from './sbom.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const help = 'Usage: npm run -s sbom | npm run -s licences | npm run -s audit\n';

const commands: Readonly<Record<string, () => number>> = {
  /** Prints the bill of materials. */
  sbom() {
    process.stdout.write(`${JSON.stringify(createSbom(readLockFile(`${root}package-lock.json`)), null, 2)}\n`);
    return 0;
  },
  /** Prints one line per package; returns 1 when a licence is unknown or not allowed. */
  licences() {
    const { packages } = readLockFile(`${root}package-lock.json`);
    const lines = packages.map((locked) => {
      const use = locked.dev ? 'development' : 'product';
      return `${licenceOf(locked) ?? 'unknown'}\t${use}\t${locked.name} ${locked.version}`;
    });
    process.stdout.write(`${[...new Set(lines)].sort().join('\n')}\n`);
    const problems = licenceProblems(packages);
    process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
    return problems.length === 0 ? 0 : 1;
  },
  /**
   * Returns 0 when there are no high or critical advisories, 1 when there are some, and 2 when the registry did not
   * respond with a report.
   */
  audit() {
    const { stdout } = spawnSync('npm', ['audit', '--json'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
    const result = readAudit(stdout);
    if (!result.completed) {
      process.stderr.write(
        `The registry could not be asked for advisories: ${result.reason}\n` +
          'Run the audit where npm may send POST requests to a registry. test/tools/supply-chain/ checks the known advisories ' +
          'offline.\n',
      );
      return 2;
    }
    process.stdout.write(`${result.severe.length} high or critical of ${result.total} advisories\n`);
    process.stdout.write(result.severe.map((line) => `  ${line}\n`).join(''));
    return result.severe.length === 0 ? 0 : 1;
  },
};

const command = commands[process.argv[2] ?? ''];
if (command === undefined) process.stderr.write(help);
process.exitCode = command?.() ?? 1;

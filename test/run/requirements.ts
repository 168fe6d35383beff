// What tests require of the machine or the run. This is the only module that searches for programs and says why a test
// does not run.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestOptions } from 'vitest';
import { depthOfRun } from './depth.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Reason why a test, or every test of a group, does not run. */
    notRun?: string;
  }
}

/** Functions that return the path of a program, or undefined. Debian installs some programs outside of the PATH. */
const places = {
  'redis-server': () => findProgram('redis-server', ['/usr/bin', '/usr/local/bin']),
  postgres: () => {
    const folders = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
    return ['initdb', 'pg_dump'].every((name) => findProgram(name, folders))
      ? findProgram('postgres', folders)
      : undefined;
  },
  /** The script itself, because the wrapper in the PATH switches to the user `rabbitmq`. */
  'rabbitmq-server': () => {
    const folder = process.env['RABBITMQ_PROGRAMS'] ?? '/usr/lib/rabbitmq/bin';
    return [join(folder, 'rabbitmq-server')].find(existsSync);
  },
  haproxy: () => process.env['HAPROXY'] ?? findProgram('haproxy', ['/usr/sbin', '/usr/local/sbin']),
  chromium: () => {
    const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
    const programs = names.map((name) => findProgram(name, ['/usr/bin']));
    return [process.env['CHROMIUM'], ...programs].find((path) => path !== undefined && existsSync(path));
  },
} satisfies Record<string, () => string | undefined>;

const install = (program: string, what: string) => () =>
  findProgram(program) === undefined ? `needs ${what}` : undefined;
const placed = (program: keyof typeof places, what: string) => () =>
  pathOf(program) === undefined ? `needs ${what}` : undefined;
const succeeds = (command: string, args: readonly string[], what: string) => () =>
  spawnSync(command, args, { timeout: 30_000 }).status === 0 ? undefined : `needs ${what}`;

/** Each requirement returns why it is not met; undefined when it is met. */
const requirements = {
  full: () => (depthOfRun() === 'full' ? undefined : 'runs only at full depth: npm run test:full'),
  redis: placed('redis-server', 'redis-server (apt-get install redis-server)'),
  postgresql: placed('postgres', 'initdb, postgres and pg_dump (apt-get install postgresql)'),
  rabbitmq: placed(
    'rabbitmq-server',
    'RabbitMQ (apt-get install rabbitmq-server), or its programs at RABBITMQ_PROGRAMS',
  ),
  haproxy: placed('haproxy', 'HAProxy (apt-get install haproxy), or HAPROXY=<path>'),
  // Older versions close a client's connection without a response when a router aborts a connection.
  'haproxy-3': () => {
    const version = spawnSync(pathOf('haproxy') ?? 'haproxy', ['-v'], { encoding: 'utf8' }).stdout ?? '';
    return /version (?:[3-9]|\d\d)\./.test(version)
      ? undefined
      : 'needs HAProxy 3.0 or newer (Debian 13: apt-get install haproxy), or HAPROXY=<path>';
  },
  chromium: placed('chromium', 'Chromium (apt-get install chromium), or CHROMIUM=<path>'),
  prometheus: install('prometheus', 'Prometheus (apt-get install prometheus)'),
  promtool: install('promtool', 'promtool (apt-get install prometheus)'),
  compose: succeeds('docker', ['compose', 'version'], 'the compose plugin of Docker'),
  docker: succeeds('docker', ['info'], 'a Docker daemon that answers'),
  terminal: install('script', 'script (util-linux)'),
  bash: install('bash', 'bash'),
  git: install('git', 'git'),
  curl: install('curl', 'curl'),
  zsh: install('zsh', 'zsh'),
  fish: install('fish', 'fish'),
  linux: () => (process.platform === 'linux' ? undefined : 'needs /proc of Linux'),
  'dev-full': () => (existsSync('/dev/full') ? undefined : 'needs /dev/full'),
  autogroup: () => (existsSync('/proc/self/autogroup') ? undefined : 'needs /proc/self/autogroup'),
  compiler: install('cc', 'a C compiler (apt-get install gcc)'),
  mount: () =>
    spawnSync('sh', [
      '-c',
      'dir=$(mktemp -d) && trap \'rmdir "$dir"\' EXIT && mount -t tmpfs tmpfs "$dir" && umount "$dir"',
    ]).status === 0
      ? undefined
      : 'needs permission to mount a file system (root)',
  'open-files': () =>
    spawnSync('sh', ['-c', 'test "$(ulimit -Hn)" = unlimited || test "$(ulimit -Hn)" -ge 10000']).status === 0
      ? undefined
      : 'needs 10,000 open files (ulimit -n)',
  grafana: () => (process.env['WITHOUT_GRAFANA'] === '1' ? 'is excluded by WITHOUT_GRAFANA=1' : undefined),
} satisfies Record<string, () => string | undefined>;

export type Requirement = keyof typeof requirements;

/**
 * Returns options for `describe` and `it` that skip tests that cannot run, with a reason for the table at the end.
 * @throws Error when a requirement that `TEST_REQUIRE` (a comma-separated list) names is not met
 */
export function requires(...names: readonly Requirement[]): TestOptions {
  return notRunBecause(whyNot(names));
}

/** Returns why a test with these requirements does not run; empty when it runs. @throws Error like {@link requires} */
export function whyNot(names: readonly Requirement[]): string {
  const demanded = (process.env['TEST_REQUIRE'] ?? '').split(',');
  const reasons = names.flatMap((name) => {
    const reason = requirements[name]();
    if (reason !== undefined && demanded.includes(name))
      throw new Error(`TEST_REQUIRE names ${name}, and this test ${reason}`);
    return reason ?? [];
  });
  return reasons.join('; ');
}

/**
 * Returns options that skip tests for this reason, or empty options when the reason is empty. For a requirement that
 * only one file has.
 */
export function notRunBecause(reason: string): TestOptions {
  return reason === '' ? {} : { skip: true, meta: { notRun: reason } };
}

/** Returns the path of a program; undefined when it is not installed. */
export function pathOf(program: keyof typeof places): string | undefined {
  return places[program]();
}

/** Returns the first executable file of this name in the PATH, then in these folders. */
function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...path, ...folders].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

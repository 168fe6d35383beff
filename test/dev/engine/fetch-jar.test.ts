// Tests of the download of the engine's jar with Maven.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchJar } from '../../../dev/engine/fetch-jar.ts';
import { engineRelease } from '../../../dev/engine/release.ts';
import { pollUntil } from '../../stack/poll-until.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fetch-jar-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/**
 * Installs a fake `mvn` that prints this version for -v, and otherwise runs a script with the path of its repository
 * in $repository.
 */
function installMaven(version: string, script: string): void {
  const home = join(root, 'maven-home');
  mkdirSync(join(home, 'bin'), { recursive: true });
  const command = join(home, 'bin/mvn');
  writeFileSync(
    command,
    `#!/bin/sh
case "$*" in *-v) echo "Apache Maven ${version} (x)"; echo "Maven home: ${home}"; exit 0;; esac
for argument in "$@"; do case "$argument" in -Dmaven.repo.local=*) repository="\${argument#*=}";; esac; done
echo "$@" >> ${root}/calls
${script}
`,
  );
  chmodSync(command, 0o755);
}

const artifact = 'org/conductoross/conductor-server/3.32.1/conductor-server-3.32.1-boot.jar';
const resolves = `mkdir -p "$repository/$(dirname ${artifact})"; echo jar > "$repository/${artifact}"`;

function fetch(options: { path?: string; signal?: AbortSignal } = {}): Promise<void> {
  const path = options.path ?? `${join(root, 'maven-home/bin')}:/usr/bin:/bin`;
  return fetchJar(
    {
      release: engineRelease,
      folder: join(root, 'work'),
      java: { command: '/opt/jdk/bin/java', major: 25 },
      env: { PATH: path },
      say: () => {},
      signal: options.signal,
    },
    join(root, 'engine.jar'),
  );
}

const calls = () => readFileSync(join(root, 'calls'), 'utf8').trim().split('\n');

describe('fetchJar', () => {
  it('says what to do when Maven is missing', async () => {
    await expect(fetch({ path: join(root, 'nothing') })).rejects.toThrow(
      /no working mvn is in PATH[\s\S]*install Maven/,
    );
  });

  it('fetches with the Maven of the machine, and leaves nothing but the jar', async () => {
    installMaven('3.8.7', resolves);
    await fetch();
    expect(readFileSync(join(root, 'engine.jar'), 'utf8')).toBe('jar\n');
    expect(existsSync(join(root, 'work'))).toBe(false);
    expect(calls()).toHaveLength(1);
    expect(calls()[0]).toContain('org.conductoross:conductor-server:3.32.1:jar:boot');
  });

  it('makes Maven ask again for an artifact that it did not find earlier', async () => {
    installMaven('3.8.7', resolves);
    await fetch();
    expect(calls()[0]?.split(' ')).toContain('-U');
  });

  it('shows why Maven failed, and keeps the downloaded files', async () => {
    installMaven(
      '3.8.7',
      `mkdir -p "$repository"; echo "[INFO] x"; echo "[ERROR] Could not transfer artifact"; exit 1`,
    );
    await expect(fetch()).rejects.toThrow(/Maven could not fetch .*:\n {2}\[ERROR\] Could not transfer artifact$/);
    expect(existsSync(join(root, 'work/repository'))).toBe(true);
  });

  it('ends Maven when the signal is aborted', async () => {
    installMaven('3.8.7', `echo $$ > ${root}/pid; exec sleep 60`);
    const stop = new AbortController();
    const fetched = fetch({ signal: stop.signal });
    // The shell creates the file before it writes to it.
    const readPid = () => existsSync(join(root, 'pid')) && Number(readFileSync(join(root, 'pid'), 'utf8'));
    const pid = await pollUntil('Maven to run', () => readPid() || undefined);
    stop.abort();
    await expect(fetched).rejects.toThrow();
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

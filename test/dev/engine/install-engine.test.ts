// Tests of the installation of the engine in the user's cache.

import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installEngine } from '../../../dev/engine/install-engine.ts';
import type { EngineRelease } from '../../../dev/engine/release.ts';

let root: string;
let said: string[];

const content = 'an engine of 23 bytes!!';
const release: EngineRelease = {
  version: '0.0.1',
  coordinates: 'org.example:engine:0.0.1:jar:boot',
  repositoryPath: 'org/example/engine/0.0.1',
  fileName: 'engine-0.0.1-boot.jar',
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  image: 'example/engine:0.0.1',
  minJava: 21,
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'install-engine-'));
  said = [];
  installJava(`touch "$archive"`);
});
afterEach(() => rmSync(root, { recursive: true }));

function writeScript(path: string, script: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/**
 * Installs a fake `java` that unpacks the jar as Spring Boot does. For any other command, it runs a script with the
 * path of the class archive in $archive.
 */
function installJava(training: string): void {
  writeScript(
    join(root, 'jdk/bin/java'),
    `echo "$@" >> ${root}/java-runs
for argument in "$@"; do
  case "$argument" in -XX:ArchiveClassesAtExit=*) archive="\${argument#*=}";; esac
  last="$argument"
done
case "$*" in
  *jarmode*) mkdir -p "$last/lib"; echo thin > "$last/${release.fileName}"; echo other > "$last/lib/other.jar";;
  *) ${training};;
esac`,
  );
}

function putIntoMavenRepository(text: string): string {
  const folder = join(root, '.m2/repository', release.repositoryPath);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, release.fileName), text);
  return join(folder, release.fileName);
}

/** Installs a fake `mvn` that fetches this text as the engine's jar. */
function installMaven(text: string): void {
  writeScript(
    join(root, 'bin/mvn'),
    `case "$*" in *-v) echo "Apache Maven 3.8.7 (x)"; echo "Maven home: ${root}/maven"; exit 0;; esac
for argument in "$@"; do case "$argument" in -Dmaven.repo.local=*) repository="\${argument#*=}";; esac; done
mkdir -p "$repository/${release.repositoryPath}"
printf '%s' '${text}' > "$repository/${release.repositoryPath}/${release.fileName}"`,
  );
}

const install = () =>
  installEngine({
    java: { command: join(root, 'jdk/bin/java'), major: 25 },
    say: (line) => said.push(line),
    env: { HOME: root, PATH: `${join(root, 'bin')}:/usr/bin:/bin`, XDG_CACHE_HOME: join(root, 'cache') },
    release,
  });
const cache = (...path: string[]) => join(root, 'cache/service-router', ...path);
const javaRuns = () => readFileSync(join(root, 'java-runs'), 'utf8').trim().split('\n');

describe('installEngine', () => {
  it('unpacks the jar from the Maven repository, leaves it there, and creates the class archive', async () => {
    const ofMaven = putIntoMavenRepository(content);
    const { jar, classArchive } = await install();
    expect(jar).toBe(cache('conductor-server-0.0.1', release.fileName));
    expect(readFileSync(jar, 'utf8')).toBe('thin\n');
    expect(existsSync(classArchive!)).toBe(true);
    expect(existsSync(ofMaven)).toBe(true);
    expect(said).toEqual(['Preparing the workflow engine for quick starts (once, about 20 s).']);
  });

  it('does nothing when it is called again', async () => {
    putIntoMavenRepository(content);
    const first = await install();
    expect(javaRuns()).toHaveLength(2);
    expect(await install()).toEqual(first);
    expect(javaRuns()).toHaveLength(2);
    expect(said).toHaveLength(1);
  });

  it('downloads the jar when the one in the Maven repository differs, and then deletes the download', async () => {
    putIntoMavenRepository(content.toUpperCase());
    installMaven(content);
    const { jar } = await install();
    expect(existsSync(jar)).toBe(true);
    expect(existsSync(cache(release.fileName))).toBe(false);
    expect(existsSync(cache('maven'))).toBe(false);
  });

  it('rejects a downloaded jar with a wrong digest, and downloads it again the next time', async () => {
    installMaven('an engine of somebody else');
    await expect(install()).rejects.toThrow(/engine-0.0.1-boot.jar has the wrong content/);
    expect(existsSync(cache('conductor-server-0.0.1'))).toBe(false);
    installMaven(content);
    await expect(install()).resolves.toMatchObject({ jar: cache('conductor-server-0.0.1', release.fileName) });
  });

  it('unpacks the engine again when a file is missing', async () => {
    putIntoMavenRepository(content);
    await install();
    rmSync(cache('conductor-server-0.0.1/lib/other.jar'));
    await install();
    expect(existsSync(cache('conductor-server-0.0.1/lib/other.jar'))).toBe(true);
  });

  it('continues without a class archive that cannot be created, and does not retry each time', async () => {
    putIntoMavenRepository(content);
    installJava('exit 1');
    expect((await install()).classArchive).toBeUndefined();
    expect((await install()).classArchive).toBeUndefined();
    expect(said).toHaveLength(1);
  });

  it('creates another class archive for another Java', async () => {
    putIntoMavenRepository(content);
    const first = await install();
    installJava(`touch "$archive"; # another build`);
    expect((await install()).classArchive).not.toBe(first.classArchive);
  });

  it('prepares everything once when two installations start at the same time', async () => {
    putIntoMavenRepository(content);
    const [one, two] = await Promise.all([install(), install()]);
    expect(one).toEqual(two);
  });
});

// Tests of the search for a suitable Java installation, and of the message when no engine can run.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findJava, javaFolders } from '../../../dev/engine/find-java.ts';
import { noEngineMessage, sharesDatabase } from '../../../dev/engine/start-engine.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'find-java-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Installs a fake Java that prints its version like a real one, or runs the given script. */
function installJava(home: string, version: string, script?: string): string {
  const command = join(root, home, 'bin/java');
  mkdirSync(dirname(command), { recursive: true });
  writeFileSync(command, `#!/bin/sh\n${script ?? `echo 'openjdk version "${version}" 2025-01-01' >&2`}\n`);
  chmodSync(command, 0o755);
  return command;
}

const search = (env: NodeJS.ProcessEnv, folders: string[] = []) => findJava({ minMajor: 21, env, folders });

describe('findJava', () => {
  it('prefers JAVA_HOME', async () => {
    const command = installJava('home', '21.0.5');
    installJava('path', '25.0.1');
    const { java } = await search({ JAVA_HOME: join(root, 'home'), PATH: join(root, 'path/bin') });
    expect(java).toEqual({ command, major: 21 });
  });

  it('skips a Java in JAVA_HOME or PATH that is too old, and chooses the newest Java in a folder', async () => {
    installJava('old', '17.0.15');
    installJava('jvm/jdk-21', '21.0.5');
    const command = installJava('jvm/jdk-25', '25.0.3');
    installJava('jvm/jdk-8', '1.8.0_412');
    const env = { JAVA_HOME: join(root, 'old'), PATH: join(root, 'old/bin') };
    const { java, searched } = await search(env, [join(root, 'nowhere'), join(root, 'jvm')]);
    expect(java).toEqual({ command, major: 25 });
    expect(searched[0]).toEqual({ location: 'JAVA_HOME', found: `Java 17 (${join(root, 'old/bin/java')})` });
    expect(searched[2]).toEqual({ location: join(root, 'nowhere'), found: 'none' });
  });

  it('reads the release file instead of running Java', async () => {
    installJava('home', '', 'exit 1');
    writeFileSync(join(root, 'home/release'), 'IMPLEMENTOR="X"\nJAVA_VERSION="23.0.1"\n');
    const { java } = await search({ JAVA_HOME: join(root, 'home') });
    expect(java?.major).toBe(23);
  });

  it('knows the folder layout of macOS', async () => {
    installJava('machines/temurin-21.jdk/Contents/Home', '21.0.5');
    const { java } = await search({}, [join(root, 'machines')]);
    expect(java?.major).toBe(21);
  });

  it('lists an installation with several names once', async () => {
    installJava('jvm/java-17', '17.0.15');
    symlinkSync(join(root, 'jvm/java-17'), join(root, 'jvm/default'));
    const { java, searched } = await search({}, [join(root, 'jvm')]);
    expect(java).toBeUndefined();
    expect(searched.at(-1)?.found).toBe(`Java 17 (${join(root, 'jvm/java-17/bin/java')})`);
  });

  it('skips entries that are not Java: a stub that fails, a file that cannot be run, a folder', async () => {
    installJava('stub', '', 'echo "Unable to locate a Java Runtime." >&2; exit 1');
    const command = installJava('plain', '25.0.1');
    chmodSync(command, 0o644);
    mkdirSync(join(root, 'folder/bin/java'), { recursive: true });
    const PATH = ['stub', 'plain', 'folder'].map((name) => join(root, name, 'bin')).join(':');
    const { java, searched } = await search({ PATH });
    expect(java).toBeUndefined();
    expect(searched[1]).toEqual({ location: 'PATH', found: 'none' });
  });

  it('searches the usual folders of Linux, macOS and version managers', () => {
    expect(javaFolders({ HOME: '/home/x' })).toEqual(
      expect.arrayContaining(['/usr/lib/jvm', '/Library/Java/JavaVirtualMachines', '/home/x/.sdkman/candidates/java']),
    );
  });
});

describe('noEngineMessage', () => {
  it('says what it searched for, where, and two ways to fix it', async () => {
    installJava('old', '17.0.15');
    const message = noEngineMessage(
      await search({ PATH: join(root, 'old/bin') }, ['/nowhere/jvm']),
      'no daemon responds',
    );
    expect(message.split('\n')).toEqual([
      'The workflow engine (Conductor 3.32.1) needs Java 21 or newer with Maven, or Docker; neither was found.',
      '  JAVA_HOME: none',
      `  PATH: Java 17 (${join(root, 'old/bin/java')})`,
      '  /nowhere/jvm: none',
      '  Docker: no daemon responds',
      'Do one of these:',
      '  - install Maven and JDK 21 or newer, and set JAVA_HOME if the JDK is not found',
      '  - install and start Docker',
      'An engine that is already running can be used with CONDUCTOR_URL=http://host:port.',
    ]);
  });

  it('does not name Docker for an engine on Redis', async () => {
    const message = noEngineMessage(await search({}, ['/nowhere/jvm']));
    expect(message.split('\n')).toEqual([
      'The workflow engine (Conductor 3.32.1) on Redis needs Java 21 or newer with Maven, which was not found.',
      '  JAVA_HOME: none',
      '  PATH: none',
      '  /nowhere/jvm: none',
      'Do one of these:',
      '  - install Maven and JDK 21 or newer, and set JAVA_HOME if the JDK is not found',
      '  - start without --store redis',
      'An engine that is already running can be used with CONDUCTOR_URL=http://host:port.',
    ]);
  });
});

describe('sharesDatabase', () => {
  const where = (platform: NodeJS.Platform, home = 'none', system = 'Debian GNU/Linux 12 (bookworm)') => {
    const env = { JAVA_HOME: join(root, home), HOME: root, PATH: join(root, 'maven') };
    return sharesDatabase({ platform, env, folders: [], dockerSystem: async () => system });
  };
  beforeEach(() => {
    mkdirSync(join(root, 'maven'));
    writeFileSync(join(root, 'maven/mvn'), '#!/bin/sh\nexit 0\n');
    chmodSync(join(root, 'maven/mvn'), 0o755);
  });

  it('is true where containers share the kernel of this machine', async () => {
    expect(await where('linux')).toBe(true);
  });

  it("is false in Docker Desktop's virtual machine on Linux, but true with Java", async () => {
    installJava('new', '25.0.1');
    expect(await where('linux', 'none', 'Docker Desktop')).toBe(false);
    expect(await where('linux', 'new', 'Docker Desktop')).toBe(true);
  });

  it('is false when the engine would run in a container in a virtual machine', async () => {
    expect(await where('darwin')).toBe(false);
    installJava('old', '17.0.1');
    expect(await where('darwin', 'old')).toBe(false);
    installJava('new', '25.0.1');
    expect(await where('darwin', 'new')).toBe(true);
    rmSync(join(root, 'maven/mvn'));
    expect(await where('darwin', 'new')).toBe(false);
  });
});

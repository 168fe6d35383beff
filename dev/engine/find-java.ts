// Finds a Java that is new enough: JAVA_HOME, PATH, then the folders in which Java is usually installed.

import { execFile } from 'node:child_process';
import { access, constants, readFile, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A Java that can run the engine. */
export interface Java {
  /** Path of the `java` command. */
  readonly command: string;
  /** First number of its version, e.g. 25. */
  readonly major: number;
}

/** One place that was looked at, and what was there. */
export interface SearchedLocation {
  readonly location: string;
  readonly found: string;
}

/** The outcome of a search: the Java to use, or none, and every place that was looked at on the way. */
export interface JavaSearch {
  readonly java: Java | undefined;
  readonly searched: readonly SearchedLocation[];
}

export interface JavaSearchOptions {
  /** Oldest version that will do. */
  readonly minMajor: number;
  /** Defaults to `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Folders that hold Java installations side by side. Default: the usual ones of Linux and macOS. */
  readonly folders?: readonly string[];
}

/** The usual folders; `~` is the home directory of `env`. */
export function javaFolders(env: NodeJS.ProcessEnv): string[] {
  const home = env['HOME'];
  const ofUser = ['.sdkman/candidates/java', '.jdks', '.asdf/installs/java', '.local/share/mise/installs/java'];
  return [
    '/usr/lib/jvm',
    '/usr/java',
    '/opt/java',
    '/Library/Java/JavaVirtualMachines',
    '/opt/homebrew/opt',
    '/usr/local/opt',
    ...(home === undefined ? [] : [...ofUser, 'Library/Java/JavaVirtualMachines'].map((path) => join(home, path))),
  ];
}

/** Searches in the order above; in a folder of installations the newest one wins. */
export async function findJava(options: JavaSearchOptions): Promise<JavaSearch> {
  const { minMajor, env = process.env } = options;
  const searched: SearchedLocation[] = [];
  const searches: (() => Promise<SearchedLocation & { java?: Java | undefined }>)[] = [
    async () => searchLocation('JAVA_HOME', env['JAVA_HOME'] ? [join(env['JAVA_HOME'], 'bin/java')] : []),
    async () =>
      searchLocation(
        'PATH',
        pathFolders(env).map((folder) => join(folder, 'java')),
      ),
    ...(options.folders ?? javaFolders(env)).map((folder) => async () => searchLocation(folder, await javasIn(folder))),
  ];
  for (const search of searches) {
    const { java, ...location } = await search();
    searched.push(location);
    if (java !== undefined && java.major >= minMajor) return { java, searched };
  }
  return { java: undefined, searched };
}

function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
}

/** The newest of some commands. */
async function searchLocation(
  location: string,
  commands: string[],
): Promise<SearchedLocation & { java?: Java | undefined }> {
  const javas = (await Promise.all(commands.map(identify))).filter((java) => java !== undefined);
  const java = javas.sort((a, b) => b.major - a.major)[0];
  const found =
    javas.length === 0 ? 'none' : javas.map(({ major, command }) => `Java ${major} (${command})`).join(', ');
  return { location, found, java };
}

/** The `java` commands of installations that lie side by side in a folder. */
async function javasIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const homes = ['', 'Contents/Home', 'libexec/openjdk.jdk/Contents/Home'];
  const isJava = (name: string) => !folder.endsWith('/opt') || name.startsWith('openjdk');
  const commands = names.filter(isJava).flatMap((name) => homes.map((home) => join(folder, name, home, 'bin/java')));
  // The same installation often has several names.
  const real = await Promise.all(commands.map((command) => realpath(command).catch(() => undefined)));
  return [...new Set(real.filter((command) => command !== undefined))];
}

/** Which Java a command is: told by the `release` file of its installation, else by running it. */
async function identify(command: string): Promise<Java | undefined> {
  try {
    await access(command, constants.X_OK);
    const home = dirname(dirname(await realpath(command)));
    const release = await readFile(join(home, 'release'), 'utf8').catch(() => '');
    const major = majorOf(/^JAVA_VERSION="([^"]+)"/m.exec(release)?.[1]) ?? majorOf(await runJavaVersion(command));
    return major === undefined ? undefined : { command, major };
  } catch {
    return undefined;
  }
}

/** `java -version` prints `openjdk version "25.0.3" …` on standard error. */
function runJavaVersion(command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(command, ['-version'], { timeout: 10_000 }, (_error, stdout, stderr) => {
      resolve(/version "([^"]+)"/.exec(stdout + stderr)?.[1]);
    });
  });
}

/** `25.0.3` is 25; `1.8.0_412` is 8. */
function majorOf(version: string | undefined): number | undefined {
  const numbers = /^(?:1\.)?(\d+)/.exec(version ?? '');
  return numbers ? Number(numbers[1]) : undefined;
}

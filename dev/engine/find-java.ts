// Finds a suitable Java: in JAVA_HOME, in PATH, then in the usual installation folders.

import { execFile } from 'node:child_process';
import { access, constants, readFile, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A Java installation. */
export interface Java {
  /** Path of the `java` command. */
  readonly command: string;
  /** Major version, such as 25. */
  readonly major: number;
}

/** A searched location and its result. */
export interface SearchedLocation {
  readonly location: string;
  readonly found: string;
}

/** The result of a search: the Java to use, if any, and every searched location. */
export interface JavaSearch {
  readonly java: Java | undefined;
  readonly searched: readonly SearchedLocation[];
}

/** What to search for, and where. */
export interface JavaSearchOptions {
  /** Oldest acceptable major version. */
  readonly minMajor: number;
  /** Defaults to `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Folders with Java installations. Default: the usual folders of Linux and macOS. */
  readonly folders?: readonly string[];
}

/** Returns the usual installation folders, including those below `HOME` of `env`. */
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

/** Searches JAVA_HOME, PATH and the folders, in this order. In each location the newest Java is chosen. */
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

/** Returns the newest Java among the commands of a location. */
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

/** Returns the `java` commands of the installations in a folder. */
async function javasIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const homes = ['', 'Contents/Home', 'libexec/openjdk.jdk/Contents/Home'];
  const isJava = (name: string) => !folder.endsWith('/opt') || name.startsWith('openjdk');
  const commands = names.filter(isJava).flatMap((name) => homes.map((home) => join(folder, name, home, 'bin/java')));
  // Symbolic links often give an installation several names.
  const real = await Promise.all(commands.map((command) => realpath(command).catch(() => undefined)));
  return [...new Set(real.filter((command) => command !== undefined))];
}

/** Determines the version of a `java` command from the installation's `release` file, or by running it. */
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

/** Runs `java -version`, which prints `openjdk version "25.0.3" …` on standard error. */
function runJavaVersion(command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(command, ['-version'], { timeout: 10_000 }, (_error, stdout, stderr) => {
      resolve(/version "([^"]+)"/.exec(stdout + stderr)?.[1]);
    });
  });
}

/** Returns the major version: 25 for `25.0.3`, 8 for `1.8.0_412`. */
function majorOf(version: string | undefined): number | undefined {
  const numbers = /^(?:1\.)?(\d+)/.exec(version ?? '');
  return numbers ? Number(numbers[1]) : undefined;
}

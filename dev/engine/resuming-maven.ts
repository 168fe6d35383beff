// A Maven that continues an interrupted download, for a file as large as the engine's jar.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Maven, runMaven } from './maven.ts';

/**
 * Maven from 3.9 on starts every download from its first byte, and so does 3.8 as it comes; 3.8 with the extension of
 * this folder asks for the rest (tried with 3.8.7, 3.8.8 and 3.9.11).
 */
export const extensionFolder = fileURLToPath(new URL('./maven', import.meta.url));

const resumingVersion = '3.8.8';

export interface ResumingOptions {
  /** Where a Maven of ours is unpacked. */
  readonly folder: string;
  /** Options every run gets. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/** `maven` itself when it is a 3.8; else a 3.8 that it fetches, with the same settings; else itself again. */
export async function resumingMaven(maven: Maven, { folder, args, env, signal }: ResumingOptions): Promise<Maven> {
  if (maven.version.startsWith('3.8.')) return maven;
  const command = join(folder, `apache-maven-${resumingVersion}`, 'bin/mvn');
  const resuming = { ...maven, command, version: resumingVersion };
  if (await exists(command)) return resuming;
  const unpack = [
    'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack',
    `-Dartifact=org.apache.maven:apache-maven:${resumingVersion}:zip:bin`,
    `-DoutputDirectory=${folder}`,
    `-DmarkersDirectory=${join(folder, 'markers')}`,
  ];
  try {
    await runMaven(maven, { args: [...args, ...unpack], cwd: folder, env, signal });
    return (await exists(command)) ? resuming : maven;
  } catch {
    signal?.throwIfAborted();
    // It will do: an interrupted download then starts over. When there is no way out at all, it says so itself.
    return maven;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

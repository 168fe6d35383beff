// Provides a Maven that resumes interrupted downloads, for the engine's large jar.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Maven, runMaven } from './maven.ts';

/**
 * Folder of the Maven extension that resumes downloads. It works with Maven 3.8 (tested: 3.8.7, 3.8.8). Maven 3.9
 * (tested: 3.9.11) and 3.8 without the extension always start over.
 */
export const extensionFolder = fileURLToPath(new URL('./maven', import.meta.url));

const resumingVersion = '3.8.8';

/** How to get a Maven 3.8. */
export interface ResumingOptions {
  /** Folder in which a downloaded Maven is unpacked. */
  readonly folder: string;
  /** Options of every run. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/** Returns `maven` if it is a 3.8, else a downloaded 3.8 with the same settings, or `maven` when the download fails. */
export async function resumingMaven(maven: Maven, { folder, args, env, signal }: ResumingOptions): Promise<Maven> {
  if (maven.version.startsWith('3.8.')) return maven;
  const command = join(folder, `apache-maven-${resumingVersion}`, 'bin/mvn');
  const resuming = { ...maven, command, version: resumingVersion };
  if (existsSync(command)) return resuming;
  const unpack = [
    'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack',
    `-Dartifact=org.apache.maven:apache-maven:${resumingVersion}:zip:bin`,
    `-DoutputDirectory=${folder}`,
    `-DmarkersDirectory=${join(folder, 'markers')}`,
  ];
  try {
    await runMaven(maven, { args: [...args, ...unpack], cwd: folder, env, signal });
    return existsSync(command) ? resuming : maven;
  } catch {
    signal?.throwIfAborted();
    // Without a 3.8 an interrupted download starts over. A network failure is reported by the download itself.
    return maven;
  }
}

// Keycloak's distribution in the user's cache: downloaded with Maven once, and used only if its digest is right.

import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Java } from '../../dev/engine/find-java.ts';
import { verifyAndStamp, cacheFolder, isStamped } from '../../dev/engine/jar.ts';
import { hasMaven, runMaven } from '../../dev/engine/maven.ts';
import { acquireLock } from '../../dev/setup/lock.mjs';
import { keycloakRelease } from './release.ts';

/**
 * Returns the path of the archive (176 MB) after verifying it.
 * @throws Error when Maven is missing or fails, or the digest is wrong
 */
export async function ensureArchive(java: Java): Promise<string> {
  const cache = cacheFolder();
  const archive = join(cache, keycloakRelease.fileName);
  if (await isStamped(archive, keycloakRelease)) return archive;
  await mkdir(cache, { recursive: true });
  const release = await acquireLock(join(cache, 'keycloak.lock'), { onWait: () => {} });
  try {
    if (!(await isStamped(archive, keycloakRelease))) await fetchArchive(archive, java);
    return archive;
  } finally {
    release();
  }
}

async function fetchArchive(archive: string, java: Java): Promise<void> {
  const env = { JAVA_HOME: dirname(dirname(java.command)), ...process.env };
  if (!(await hasMaven(env))) throw new Error('Keycloak is fetched through Maven, and no working mvn is in PATH');
  const { coordinates, repositoryPath, fileName } = keycloakRelease;
  const folder = join(dirname(archive), 'maven-keycloak');
  await mkdir(folder, { recursive: true });
  const get = ['org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get', '-Dtransitive=false'];
  const args = ['-B', `-Dmaven.repo.local=${folder}`, ...get, `-Dartifact=${coordinates}`];
  await runMaven({ args, cwd: folder, env });
  await rename(join(folder, repositoryPath, fileName), archive);
  await verifyAndStamp(archive, keycloakRelease);
  await rm(folder, { recursive: true, force: true });
}

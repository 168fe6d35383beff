// Installs Zeebe's distribution in the user's cache. Takes it from the local Maven repository (~/.m2) if it is there,
// and otherwise downloads it once with Maven.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Java } from '../../dev/engine/find-java.ts';
import { cacheFolder } from '../../dev/engine/jar.ts';
import { runMaven } from '../../dev/engine/maven.ts';
import type { Run } from '../run.ts';

export const zeebeVersion = '8.6.0';
const archivePath = `io/camunda/camunda-zeebe/${zeebeVersion}/camunda-zeebe-${zeebeVersion}.tar.gz`;

/** Returns the folder of the distribution. @throws Error with Maven's output when the download fails */
export async function installZeebe(run: Pick<Run, 'step'>, java: Java): Promise<string> {
  const home = join(cacheFolder(), `camunda-zeebe-${zeebeVersion}`);
  if (existsSync(home)) return home;
  run.step(`installing Zeebe ${zeebeVersion} (300 MB, only once)`);
  const draft = `${home}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  const own = join(process.env['HOME'] ?? homedir(), '.m2/repository', archivePath);
  const archive = existsSync(own) ? own : await download(draft, java);
  await promisify(execFile)('tar', ['-xzf', archive, '-C', draft, '--strip-components=1'], { timeout: 300_000 });
  await rm(join(draft, 'repository'), { recursive: true, force: true });
  await rename(draft, home);
  return home;
}

async function download(cwd: string, java: Java): Promise<string> {
  const repository = join(cwd, 'repository');
  const get = ['org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get', '-Dtransitive=false'];
  const artifact = `-Dartifact=io.camunda:camunda-zeebe:${zeebeVersion}:tar.gz`;
  const env = { JAVA_HOME: dirname(dirname(java.command)), ...process.env };
  await runMaven({ args: ['-B', `-Dmaven.repo.local=${repository}`, ...get, artifact], cwd, env });
  return join(repository, archivePath);
}

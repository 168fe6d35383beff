// Tests of the choice between an engine at a given URL, Java and Docker.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { planEngine } from '../../../dev/engine/start-engine.ts';

let root: string;

/** Sets up a machine with Java 25, but without the engine or Maven. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'start-engine-'));
  mkdirSync(join(root, 'jdk/bin'), { recursive: true });
  writeFileSync(join(root, 'jdk/bin/java'), '#!/bin/sh\nexit 1\n');
  chmodSync(join(root, 'jdk/bin/java'), 0o755);
  writeFileSync(join(root, 'jdk/release'), 'JAVA_VERSION="25.0.1"\n');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true });
});

function plan(dockerProblem: string | undefined, database?: { redisPort: number }) {
  const env = { JAVA_HOME: join(root, 'jdk'), HOME: root, PATH: join(root, 'none') };
  const options = { port: 1, stateDir: root, say: () => {}, tuning: { database } };
  return planEngine(options, { env, folders: [], dockerProblem: async () => dockerProblem });
}

describe('planEngine with Java, but without the engine or Maven', () => {
  it('runs the engine in Docker', async () => {
    expect(await plan(undefined)).toMatchObject({ kind: 'own', how: 'Docker' });
  });

  it('fails without Docker, and names both ways to run the engine', async () => {
    const message = plan('no daemon responds');
    await expect(message).rejects.toThrow(/with Maven, or Docker; neither was found/);
    await expect(message).rejects.toThrow(/JAVA_HOME: Java 25 .*\n {2}Maven: no working mvn is in PATH, and ~\/\.m2\//);
    await expect(message).rejects.toThrow('  Docker: no daemon responds');
  });

  it('fails for an engine on Redis, and names only Maven', async () => {
    await expect(plan(undefined, { redisPort: 1 })).rejects.toThrow(/on Redis needs Java 21 or newer with Maven/);
  });
});

describe('planEngine', () => {
  it('uses the URL of its options, whatever the value of CONDUCTOR_URL', async () => {
    vi.stubEnv('CONDUCTOR_URL', 'http://127.0.0.1:9');
    expect(await plan(undefined)).toMatchObject({ kind: 'own' });
    await expect(planEngine({ port: 1, stateDir: root, url: 'http://127.0.0.1:10/' })).rejects.toThrow(
      'no healthy engine responds at http://127.0.0.1:10/',
    );
  });
});

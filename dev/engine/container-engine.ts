// Runs the engine's container image with testcontainers, which is imported on demand.

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { StartedTestContainer } from 'testcontainers';
import type { Child, Ending } from '../stack/child.ts';
import { engineArguments, engineJavaOptions, engineProperties } from './engine-arguments.ts';
import { engineRelease } from './release.ts';

/** How to run the container. */
export interface ContainerEngineOptions {
  /** TCP port on 127.0.0.1. */
  readonly port: number;
  /** State directory; the database is `<stateDir>/engine/conductor.db`. */
  readonly stateDir: string;
  /** Receives the engine's log. */
  readonly output: Writable;
}

/**
 * Returns why no container can be started: testcontainers is not installed, or no runtime responds. Undefined when a
 * container can be started.
 */
export async function findDockerProblem(): Promise<string | undefined> {
  const testcontainers = await import('testcontainers').catch(() => undefined);
  // testcontainers is large, so the package does not depend on it: only gateways without Java install it.
  if (testcontainers === undefined) return 'testcontainers is not installed (npm install --save-dev testcontainers)';
  return testcontainers.getContainerRuntimeClient().then(
    () => undefined,
    () => 'no daemon responds',
  );
}

/** Returns the operating system that the container runtime reports; undefined when none responds. */
export async function findDockerSystem(): Promise<string | undefined> {
  const client = await import('testcontainers')
    .then(({ getContainerRuntimeClient }) => getContainerRuntimeClient())
    .catch(() => undefined);
  return client?.info.containerRuntime.operatingSystem;
}

/** Starts the container. `ready` resolves with `{ url }`. testcontainers removes the container if this process dies. */
export function launchContainerEngine(options: ContainerEngineOptions): Child {
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  const container = createContainer(options, () => end({ code: null, signal: null })).then((ready) => ready.start());
  container.catch((error: Error) => end({ code: null, signal: null, error }));
  const ready = container.then(() => ({ url: `http://127.0.0.1:${options.port}` }));
  ready.catch(() => {});
  const stop = async () => {
    await container.then(
      (started: StartedTestContainer) => started.stop({ timeout: 10_000 }),
      () => {},
    );
    end({ code: 0, signal: null });
    return ended;
  };
  return { pid: undefined, ready, ended, stop, kill: () => void stop() };
}

async function createContainer({ port, stateDir, output }: ContainerEngineOptions, onEnd: () => void) {
  const { GenericContainer, Wait } = await import('testcontainers');
  /** Publishes the port on the loopback address only, which testcontainers does not support by itself. */
  class LoopbackContainer extends GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      this.hostConfig.PortBindings = { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: String(port) }] };
    }
  }
  const folder = resolve(stateDir, 'engine');
  mkdirSync(folder, { recursive: true });
  return new LoopbackContainer(engineRelease.image)
    .withUser(`${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`)
    .withBindMounts([
      { source: folder, target: '/data' },
      { source: engineProperties, target: '/engine.properties', mode: 'ro' },
    ])
    .withEntrypoint(['java', ...engineJavaOptions, '-jar', '/app/libs/conductor-server.jar'])
    .withCommand(
      engineArguments({
        properties: ['/engine.properties'],
        database: join('/data', 'conductor.db'),
        port: 8080,
      }).concat('--server.address=0.0.0.0'),
    )
    .withExposedPorts({ container: 8080, host: port })
    .withLogConsumer((stream) => stream.on('end', onEnd).pipe(output, { end: false }))
    .withWaitStrategy(Wait.forHttp('/health', 8080))
    .withStartupTimeout(180_000);
}

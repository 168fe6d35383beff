// Finds a way to run an engine and starts it: an engine at a given address, Java on this machine, or a container.

import type { Writable } from 'node:stream';
import type { Child } from '../stack/child.ts';
import { openProgramLog } from '../stack/program-log.ts';
import { findDockerProblem, findDockerSystem, launchContainerEngine } from './container-engine.ts';
import { findJava, type JavaSearch, type JavaSearchOptions } from './find-java.ts';
import { canInstallEngine, installEngine } from './install-engine.ts';
import { type EngineTuning, isHealthy, launchJavaEngine } from './java-engine.ts';
import { isRedisStore } from './engine-arguments.ts';
import { engineRelease } from './release.ts';

/** Which engine to use or start. */
export interface EngineOptions {
  /** TCP port of the engine on 127.0.0.1. */
  readonly port: number;
  /** Folder of the engine's database and log. */
  readonly stateDir: string;
  /** Address of a running engine to use instead of starting one. */
  readonly url?: string | undefined;
  /** Shows a line about progress. Default: standard error. */
  readonly say?: (line: string) => void;
  /** Aborts the preparation, such as the download of the jar. */
  readonly signal?: AbortSignal;
  /** Overrides for an engine that Java runs on this machine. */
  readonly tuning?: EngineTuning | undefined;
}

/** A way to run the engine, for which everything is installed. */
export type EnginePlan =
  | { readonly kind: 'given'; readonly url: string }
  | { readonly kind: 'own'; readonly how: string; launch(output: Writable): Child };

/** A started engine. */
export interface RunningEngine {
  /** Base URL without `/api`. */
  readonly url: string;
  /** Process id of the engine; undefined when it runs elsewhere. */
  readonly pid: number | undefined;
  /** Stops the engine; does nothing for a given engine. */
  stop(): Promise<void>;
}

/** Where to look for ways to run the engine; default: this machine. */
export interface EngineSearch extends Omit<JavaSearchOptions, 'minMajor'> {
  /** Returns why no container can be started; undefined when a container can be started. */
  readonly dockerProblem?: () => Promise<string | undefined>;
}

/**
 * Finds a way to run the engine and downloads what is missing.
 * @throws Error with a readable message when there is no way to run an engine, or the given engine is not healthy
 */
export async function planEngine(options: EngineOptions, machine: EngineSearch = {}): Promise<EnginePlan> {
  const { port, stateDir, url, say = writeToStandardError, tuning } = options;
  if (url !== undefined) {
    if (!(await isHealthy(url.replace(/\/$/, ''))))
      throw new Error(`no healthy engine responds at ${url} (conductor.url)`);
    return { kind: 'given', url: url.replace(/\/$/, '') };
  }
  const { dockerProblem: findProblem = findDockerProblem, ...places } = machine;
  const search = await findEngineJava(places);
  const { java } = search;
  if (java !== undefined) {
    const installed = await installEngine({ java, say, signal: options.signal, env: places.env ?? process.env });
    const launch = (output: Writable) => launchJavaEngine({ java, installed, port, stateDir, output, tuning });
    return { kind: 'own', how: `Java ${java.major}`, launch };
  }
  if (isRedisStore(tuning?.database)) throw new Error(noEngineMessage(search));
  const dockerProblem = await findProblem();
  if (dockerProblem === undefined) {
    return { kind: 'own', how: 'Docker', launch: (output) => launchContainerEngine({ port, stateDir, output }) };
  }
  throw new Error(noEngineMessage(search, dockerProblem));
}

/**
 * Finds a Java installation that can run the engine. Returns none when the engine is not installed and cannot be
 * installed.
 */
async function findEngineJava(places: Omit<JavaSearchOptions, 'minMajor'>): Promise<JavaSearch> {
  const search = await findJava({ minMajor: engineRelease.minJava, ...places });
  const { java, searched } = search;
  if (java === undefined || (await canInstallEngine({ java, env: places.env ?? process.env }))) return search;
  const { fileName, repositoryPath } = engineRelease;
  const maven = {
    location: 'Maven',
    found: `no working mvn is in PATH, and ~/.m2/repository/${repositoryPath}/ has no ${fileName}`,
  };
  return { java: undefined, searched: [...searched, maven] };
}

/** Where {@link sharesDatabase} looks; default: this machine. */
export interface DatabaseSearch extends Omit<JavaSearchOptions, 'minMajor'> {
  readonly platform?: NodeJS.Platform;
  /** Returns the operating system that the container runtime reports. */
  readonly dockerSystem?: () => Promise<string | undefined>;
}

/**
 * Returns whether programs on this machine may open the SQLite file of the engine that {@link planEngine} plans.
 * Outside Linux, and with Docker Desktop even on Linux, containers run in a virtual machine. SQLite's locks and shared
 * memory do not work across its boundary: two writers could damage the file.
 */
export async function sharesDatabase(search: DatabaseSearch = {}): Promise<boolean> {
  const { platform = process.platform, dockerSystem = findDockerSystem, ...places } = search;
  if ((await findEngineJava(places)).java !== undefined) return true;
  return platform === 'linux' && (await dockerSystem()) !== 'Docker Desktop';
}

/**
 * Starts an engine and waits until it is healthy. Its log is `<stateDir>/logs/engine.log`. Without
 * `url`, the engine at `CONDUCTOR_URL` is used, if this variable is set.
 * @throws Error with a readable message, and with the engine's last log lines when it did not start
 */
export async function startEngine(options: EngineOptions): Promise<RunningEngine> {
  const plan = await planEngine({ ...options, url: options.url ?? (process.env['CONDUCTOR_URL'] || undefined) });
  if (plan.kind === 'given') return { url: plan.url, pid: undefined, stop: async () => {} };
  const log = openProgramLog({ stateDir: options.stateDir, program: 'engine' });
  const child = plan.launch(log);
  try {
    const { url } = await child.ready;
    return {
      url: String(url),
      pid: child.pid,
      stop: async () => {
        await child.stop();
        log.end();
      },
    };
  } catch (error) {
    await child.stop();
    const lines = log.lastLines().map((line) => `\n  ${line}`);
    throw new Error(`the engine did not start: ${(error as Error).message}${lines.join('')}`, { cause: error });
  }
}

/**
 * Returns the message for a failed search: what is needed, the searched locations, and how to fix it.
 * @param dockerProblem why Docker cannot run the engine; absent for an engine on Redis, which runs only with Java
 */
export function noEngineMessage({ searched }: JavaSearch, dockerProblem?: string): string {
  const { minJava, version } = engineRelease;
  return [
    dockerProblem === undefined
      ? `The workflow engine (Conductor ${version}) on Redis needs Java ${minJava} or newer with Maven, which was not found.`
      : `The workflow engine (Conductor ${version}) needs Java ${minJava} or newer with Maven, or Docker; neither was found.`,
    ...searched.map(({ location, found }) => `  ${location}: ${found}`),
    ...(dockerProblem === undefined ? [] : [`  Docker: ${dockerProblem}`]),
    'Do one of these:',
    `  - install Maven and JDK ${minJava} or newer, and set JAVA_HOME if the JDK is not found`,
    dockerProblem === undefined ? '  - start without --store redis' : '  - install and start Docker',
    'An engine that is already running can be used with CONDUCTOR_URL=http://host:port.',
  ].join('\n');
}

function writeToStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

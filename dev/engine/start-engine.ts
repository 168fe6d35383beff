// Starts an engine wherever one can be had: the address it was given, Java on this machine, or a container.

import type { Writable } from 'node:stream';
import type { Child } from '../stack/child.ts';
import { openProgramLog } from '../stack/program-log.ts';
import { launchContainerEngine, isDockerRunning } from './container-engine.ts';
import { findJava, type JavaSearch } from './find-java.ts';
import { installEngine } from './install-engine.ts';
import { type EngineTuning, isHealthy, launchJavaEngine } from './java-engine.ts';
import { engineRelease } from './release.ts';

export interface EngineOptions {
  /** TCP port on 127.0.0.1 the engine will have. */
  readonly port: number;
  /** Where its database and its log live. */
  readonly stateDir: string;
  /** Address of an engine that runs already: it is used, and nothing is started. Default: `CONDUCTOR_URL`. */
  readonly url?: string | undefined;
  /** Gets a line at a time about what takes long or matters. Default: standard error. */
  readonly say?: (line: string) => void;
  /** Ends what has been begun: the fetch of the jar, for one. */
  readonly signal?: AbortSignal;
  /** Only for an engine that Java runs here. */
  readonly tuning?: EngineTuning | undefined;
}

/** How to run the engine; everything it needs is in place. */
export type EnginePlan =
  | { readonly kind: 'given'; readonly url: string }
  | { readonly kind: 'own'; readonly how: string; launch(output: Writable): Child };

/** A started engine. */
export interface RunningEngine {
  /** Base URL without `/api`. */
  readonly url: string;
  /** Of its process; undefined when it is not one of ours. */
  readonly pid: number | undefined;
  /** Ends it; an engine that was given is left alone. */
  stop(): Promise<void>;
}

/**
 * Finds a way to run the engine and fetches what it takes.
 * @throws Error for people, when there is none or the given one does not answer
 */
export async function planEngine(options: EngineOptions): Promise<EnginePlan> {
  const { port, stateDir, url = process.env['CONDUCTOR_URL'] || undefined, say = writeToStandardError } = options;
  const { tuning } = options;
  if (url !== undefined) {
    if (!(await isHealthy(url.replace(/\/$/, ''))))
      throw new Error(`no healthy engine answers at ${url} (CONDUCTOR_URL)`);
    return { kind: 'given', url: url.replace(/\/$/, '') };
  }
  const search = await findJava({ minMajor: engineRelease.minJava });
  const { java } = search;
  if (java !== undefined) {
    const installed = await installEngine({ java, say, signal: options.signal });
    const launch = (output: Writable) => launchJavaEngine({ java, installed, port, stateDir, output, tuning });
    return { kind: 'own', how: `Java ${java.major}`, launch };
  }
  if (tuning?.updateQueue !== undefined) {
    throw new Error(
      'mdm.updateQueue needs an engine that Java runs here, or one at CONDUCTOR_URL that listens to the broker',
    );
  }
  if (await isDockerRunning()) {
    return { kind: 'own', how: 'Docker', launch: (output) => launchContainerEngine({ port, stateDir, output }) };
  }
  throw new Error(noEngineMessage(search));
}

/**
 * Starts an engine and waits until it answers; its log is `<stateDir>/logs/engine.log`.
 * @throws Error for people, with the engine's last log lines when it did not come up
 */
export async function startEngine(options: EngineOptions): Promise<RunningEngine> {
  const plan = await planEngine(options);
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
    throw new Error(`the engine ${(error as Error).message}${lines.join('')}`, { cause: error });
  }
}

/** One message: what was looked for, where, and the two ways to fix it. */
export function noEngineMessage({ searched }: JavaSearch): string {
  const { minJava, version } = engineRelease;
  return [
    `The workflow engine (Conductor ${version}) needs Java ${minJava} or newer, or Docker; neither was found.`,
    ...searched.map(({ location, found }) => `  ${location}: ${found}`),
    '  Docker: no daemon answers',
    'Do one of these:',
    `  - install a JDK ${minJava} or newer and Maven, and set JAVA_HOME when it lies elsewhere`,
    '  - install and start Docker',
    'An engine that runs already can be used with CONDUCTOR_URL=http://host:port.',
  ].join('\n');
}

function writeToStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

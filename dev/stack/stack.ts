// The development stack: starts all programs in parallel, restarts them when they crash, and stops them in order.

import { setTimeout as delay } from 'node:timers/promises';
import { findRedisServer, launchRedisServer } from '../engine/redis-server.ts';
import { type EnginePlan, planEngine } from '../engine/start-engine.ts';
import { type Child, describeEnding } from './child.ts';
import type { StackSettings } from './options.ts';
import { openProgramLog, type ProgramLog } from './program-log.ts';
import {
  engineStopOrder,
  launchProgram,
  type LongRunningProgram,
  type Program,
  programsOf,
  redisStopOrder,
  registrationProgram,
  runProgramOnce,
} from './programs.ts';
import { readableLine } from './readable-line.ts';
import { type Crash, Supervisor } from './supervisor.ts';

/** Options of a stack. */
export interface StackOptions {
  readonly settings: StackSettings;
  /** Whether the log lines of every program are passed to `say`. */
  readonly verbose: boolean;
  /** Shows a line to the user. */
  readonly say: (line: string) => void;
  /** Default: the programs of the product. */
  readonly programs?: readonly LongRunningProgram[];
  /** Registers the definitions with the engine. Default: the product's CLI. */
  readonly registration?: Program;
}

/** A started program of the stack. */
interface SupervisedProgram {
  readonly name: string;
  readonly supervisor: Supervisor;
  readonly stopOrder: number;
  readonly log: ProgramLog;
}

/** The programs of one stack. Use a new object for each run. */
export class Stack {
  /** Rejects with a readable message when a program keeps crashing. Never resolves. */
  readonly failed: Promise<never>;
  readonly #options: StackOptions;
  readonly #failure = Promise.withResolvers<never>();
  readonly #supervised: SupervisedProgram[] = [];
  #redis: ((output: ProgramLog) => Child) | undefined;
  #registration: Child | undefined;
  #stopping: Promise<void> | undefined;
  #plan: EnginePlan | undefined;

  constructor(options: StackOptions) {
    this.#options = options;
    this.failed = this.#failure.promise;
    this.failed.catch(() => {});
  }

  /** How the engine is run, for the summary. */
  get engineKind(): string {
    if (this.#plan?.kind !== 'own') return 'given by conductor.url';
    return this.#redis === undefined ? this.#plan.how : `${this.#plan.how}, on Redis`;
  }

  /**
   * Finds a way to run the engine and downloads what is missing.
   * @param signal aborts the download
   * @throws Error with a readable message when there is no way to run an engine
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { settings, say } = this.#options;
    const { stateDir, givenEngine, redisPort } = settings;
    const port = Number(new URL(settings.urls.engine).port);
    if (redisPort !== undefined) {
      const command = findRedisServer();
      this.#redis = (output) => launchRedisServer({ command, port: redisPort, stateDir, output });
    }
    const database = redisPort === undefined ? undefined : { redisPort };
    this.#plan = await planEngine({ port, stateDir, url: givenEngine, say, signal, tuning: { database } });
  }

  /** Starts all programs; resolves when each of them is ready and the definitions are registered. */
  async start(): Promise<void> {
    if (this.#plan === undefined) throw new Error('call prepare() before start()');
    if (this.#stopping) return;
    const engineReady = this.#startEngine(this.#plan);
    const ready = (this.#options.programs ?? programsOf(this.#options.settings)).map((program) =>
      this.#startProgram(program),
    );
    await Promise.all([...ready, engineReady.then(() => this.#register())]);
  }

  /** Stops all programs in order and shows which programs it is waiting for; resolves when all have ended. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stopInOrder());
  }

  /** Kills all programs immediately. */
  kill(): void {
    this.#registration?.kill();
    for (const { supervisor } of this.#supervised) supervisor.kill();
  }

  async #startEngine(plan: EnginePlan): Promise<void> {
    if (plan.kind === 'given') return;
    if (this.#redis !== undefined)
      await this.#supervise({ name: 'redis', stopOrder: redisStopOrder }, this.#redis).supervisor.ready;
    if (this.#stopping) return;
    await this.#supervise({ name: 'engine', stopOrder: engineStopOrder }, plan.launch).supervisor.ready;
  }

  async #startProgram(program: LongRunningProgram): Promise<void> {
    const { env } = this.#options.settings;
    await this.#supervise(program, (output) => launchProgram(program, { env, output })).supervisor.ready;
  }

  #supervise(
    { name, stopOrder }: Pick<LongRunningProgram, 'name' | 'stopOrder'>,
    launch: (output: ProgramLog) => Child,
  ): SupervisedProgram {
    const log = this.#openLog(name);
    const onCrash = (crash: Crash) => this.#onCrash(name, log, crash);
    const onRecovery = () => this.#options.say(`${name} recovered.`);
    const supervisor = new Supervisor({ launch: () => launch(log), onCrash, onRecovery });
    const part = { name, stopOrder, log, supervisor };
    this.#supervised.push(part);
    part.supervisor.start();
    return part;
  }

  #openLog(program: string): ProgramLog {
    const { settings, verbose, say } = this.#options;
    const onLine = (line: string) => say(`${program.padEnd(18)} ${line}`);
    return openProgramLog({ stateDir: settings.stateDir, program, ...(verbose ? { onLine } : {}) });
  }

  #onCrash(name: string, log: ProgramLog, { ending, count, decision }: Crash): void {
    const { say } = this.#options;
    const lines = log
      .lastLines()
      .slice(-5)
      .map((line) => `\n    ${readableLine(line)}`);
    const ended = `${name} ended unexpectedly (${describeEnding(ending)})`;
    if (decision.action === 'give up') {
      const message = `${ended} for the ${decision.crashes}th time within a minute; giving up. ${log.path} ends with:`;
      this.#failure.reject(new Error(message + lines.join('')));
      return;
    }
    const again = `starting it again in ${decision.delayMs} ms.`;
    say(count === 1 ? `${ended}; ${again} Its last lines:${lines.join('')}` : `${ended}; ${again}`);
  }

  /**
   * Registers the definitions with the engine. Errors are shown; the stack continues with the registered definitions.
   */
  async #register(): Promise<void> {
    const { settings, say } = this.#options;
    const program = this.#options.registration ?? registrationProgram(settings.urls.engine);
    const log = this.#openLog(program.name);
    for (let tries = 1; !this.#stopping; tries++) {
      this.#registration = runProgramOnce(program, { env: settings.env, output: log });
      const ending = await this.#registration.ended;
      if (ending.code === 0 || this.#stopping) break;
      const lines = log.lastLines().map((line) => `\n    ${readableLine(line)}`);
      say(`The definitions were not registered (${describeEnding(ending)}):${lines.join('')}`);
      // Exit code 2: the engine has different definitions of the same versions, which a retry would not change.
      if (ending.code === 2 || tries === 3) break;
      await delay(1_000);
    }
    log.end();
  }

  async #stopInOrder(): Promise<void> {
    await this.#registration?.stop();
    const orders = [...new Set(this.#supervised.map(({ stopOrder }) => stopOrder))].sort((a, b) => a - b);
    for (const order of orders) {
      const parts = this.#supervised.filter(({ stopOrder }) => stopOrder === order);
      this.#options.say(`Waiting for ${parts.map(({ name }) => name).join(', ')} to end.`);
      await Promise.all(parts.map(({ supervisor }) => supervisor.stop()));
    }
    for (const { log } of this.#supervised) log.end();
  }
}

// Runs the samples of a page as a reader would: one after the other, in a checkout, with `npm start` on other ports.

import { randomBytes } from 'node:crypto';
import { compileCache } from '../../stack/compile-cache.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { pollUntil } from '../../stack/poll-until.ts';
import { differenceOf, type Ids } from './compare-output.ts';
import { OwnCheckout, type RunningStart } from './own-checkout.ts';
import { isCompared, isRun, readSamples, type Sample } from './samples.ts';
import { Shell } from './shell.ts';

/** Ports on the pages: those of `npm start` by variable, and those of a reader's own back ends. */
const pagePorts = {
  ...{ ROUTER_PORT: 8080, OPS_PORT: 8081, CONDUCTOR_PORT: 8082, IDP_PORT: 8083, BACKENDS_PORT: 8084 },
  ...{ orders: 8098, catalog: 8099 },
};

const tokenCommand = `TOKEN=$(curl -s http://127.0.0.1:8080/token/v1/token -d grant_type=client_credentials \
  -d client_id=demo -d client_secret=demo-secret | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;

/** Matches error responses. A command whose output is not shown must not get one. */
const refusal = /^HTTP\/1\.1 [45]|"type":"\/problems\//;

/** A command of a sample with the output that the page shows, if any. */
interface Step {
  readonly sample: Sample;
  readonly command: string;
  readonly shown?: { readonly text: string; readonly language: string };
}

export class SampleRunner {
  /** Name of the route that the pages add. It differs in each run, because the engine keeps executions. */
  readonly routeName = `cat${randomBytes(2).toString('hex')}`;
  readonly #checkout = new OwnCheckout();
  readonly #engineUrl: string | undefined;
  readonly #ports = new Map<string, string>();
  #environment: NodeJS.ProcessEnv = {};
  #start: RunningStart | undefined;
  /** Execution id of the last response that was printed with its header fields. */
  #executionId = '';

  /** @param engineUrl engine to use; when undefined, `npm start` starts its own */
  constructor(engineUrl?: string) {
    this.#engineUrl = engineUrl;
  }

  /**
   * Runs the samples of a page, except those that a mark excludes.
   * @throws Error with the line of the first sample whose output differs
   */
  async runPage(page: string): Promise<void> {
    const samples = readSamples(page);
    if (this.#start === undefined) await this.#restart();
    const shell = new Shell(this.#checkout.dir, this.#environment);
    const ids: Ids = new Map();
    try {
      await shell.run(this.#toReal(tokenCommand, ids));
      for (const step of stepsOf(samples))
        await this.#runStep(step, shell, ids).catch((error: Error) => {
          throw new Error(`${page}:${step.sample.line}: ${step.command}\n${error.message}`, { cause: error });
        });
    } finally {
      await shell.stop();
      this.#checkout.reset();
    }
  }

  async stop(): Promise<void> {
    await this.#start?.stop();
    this.#checkout.dispose();
  }

  async #runStep({ sample, command, shown }: Step, shell: Shell, ids: Ids): Promise<void> {
    const { marks } = sample;
    if (marks.afterRestart !== undefined) await this.#restart();
    let output = '';
    let difference: string | undefined;
    const isDone = async () => {
      output = this.#toPage(await this.#outputOf(command, { sample, shell, ids }));
      difference = shown && differenceOf(shown.text, output, { language: shown.language, ids });
      return difference === undefined || marks.untilShown === undefined;
    };
    await pollUntil('the output that the page shows', isDone, { timeoutMs: 120_000, everyMs: 500 }).catch(
      (error: Error) => {
        throw new Error(`${error.message}\n${difference ?? ''}`, { cause: error });
      },
    );
    if (difference !== undefined) throw new Error(difference);
    if (shown === undefined && refusal.test(output))
      throw new Error(`the router refuses the request; if that is intended, show the response on the page:\n${output}`);
  }

  /**
   * Runs a command and returns its output; for `npm start`, the output of the running stack.
   * @throws Error for an unexpected exit code
   */
  async #outputOf(command: string, { sample, shell, ids }: Pick<Step, 'sample'> & { shell: Shell; ids: Ids }) {
    if (command.trim() === 'npm start') return partsOfStart(this.#start?.printed() ?? '');
    const job = sample.marks.inBackground === undefined ? '' : ' &';
    const { stdout, stderr, exitCode } = await shell.run(`${this.#toReal(command, ids).trimEnd()}${job}`);
    if (exitCode !== Number(sample.marks.exitCode ?? 0)) throw new Error(`exit code ${exitCode}\n${stdout}\n${stderr}`);
    this.#executionId = /^x-execution-id: (\S+)/im.exec(stdout)?.[1] ?? this.#executionId;
    return stdout;
  }

  async #restart(): Promise<void> {
    await this.#start?.stop();
    for (const port of Object.values(pagePorts))
      if (!this.#ports.has(String(port))) this.#ports.set(String(port), String(await findFreePort()));
    const { PATH, HOME, JAVA_HOME, XDG_CACHE_HOME } = process.env;
    this.#environment = { ...compileCache, PATH, HOME, JAVA_HOME, XDG_CACHE_HOME };
    const variables = Object.entries(pagePorts).filter(([name]) => name.endsWith('_PORT'));
    this.#start = await this.#checkout.start({
      ...this.#environment,
      ...Object.fromEntries(variables.map(([name, port]) => [name, this.#ports.get(String(port))])),
      ...(this.#engineUrl === undefined ? {} : { CONDUCTOR_URL: this.#engineUrl }),
    });
  }

  /** Replaces the page's ports, ids and route name in a command with those of this run. */
  #toReal(command: string, ids: Ids): string {
    const replaced = command
      .replaceAll(/(?<=127\.0\.0\.1:|listen\()80\d\d/g, (port) => this.#ports.get(port) ?? port)
      .replaceAll('catalog', this.routeName)
      .replaceAll(/<(?:X-Execution-Id|id)>/g, this.#executionId);
    return [...ids].reduce((text, [id, real]) => text.replaceAll(id, real), replaced);
  }

  /** Replaces the ports and the route name of this run in an output with those of the page. */
  #toPage(output: string): string {
    const engine = this.#engineUrl ?? '';
    const replaced = engine === '' ? output : output.replaceAll(engine, 'http://127.0.0.1:8082');
    const ports = [...this.#ports].map(([page, real]) => [`127.0.0.1:${real}`, `127.0.0.1:${page}`] as const);
    return ports
      .reduce((text, [real, page]) => text.replaceAll(real, page), replaced)
      .replaceAll(this.routeName, 'catalog');
  }
}

/** Returns the commands to run, each with the output that the page shows. In `console` blocks, they follow a `$`. */
function stepsOf(samples: readonly Sample[]): Step[] {
  return samples.filter(isRun).flatMap((sample): Step[] => {
    if (sample.language === 'console')
      return sample.text
        .split(/^\$ /m)
        .slice(1)
        .map((text) => {
          const [command = '', ...output] = text.split('\n');
          const shown = { text: output.join('\n'), language: 'text' };
          return { sample, command, ...(shown.text.trim() === '' ? {} : { shown }) };
        });
    const outputs = samples.filter((other) => other.outputOf === sample && isCompared(other));
    const shown = outputs.map(({ text }) => text).join('\n');
    const command = sample.text;
    return [{ sample, command, ...(shown === '' ? {} : { shown: { text: shown, language: outputs[0]!.language } }) }];
  });
}

/** Returns the addresses that `npm start` printed, and its last line. */
function partsOfStart(printed: string): string {
  const [addresses = ''] = /^Starting:\n\n(?: .*\n)+/m.exec(printed) ?? [];
  return `${addresses}\n${/^Ready after.*$/m.exec(printed)?.[0] ?? ''}`;
}

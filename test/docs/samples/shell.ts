// A bash process that stays open between commands, like a reader's terminal: it keeps variables, the working
// directory and background jobs.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { pollUntil } from '../../stack/poll-until.ts';

/** The output of a block of commands, and the exit code of the last command that failed, or 0. */
export interface ShellResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export class Shell {
  readonly #bash: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #stdout = '';
  #stderr = '';

  /** @param dir working directory */
  constructor(dir: string, env: NodeJS.ProcessEnv) {
    // Runs in its own process group, so that background jobs end with bash.
    this.#bash = spawn('bash', { cwd: dir, env, detached: true });
    this.#bash.stdout.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()));
    this.#bash.stderr.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.#ended = once(this.#bash, 'close');
    this.#bash.stdin.write("trap 'sample_status=$?' ERR\n");
  }

  /** Runs commands to their end. @throws Error when they take longer than a minute */
  async run(command: string): Promise<ShellResult> {
    this.#stdout = this.#stderr = '';
    const end = randomUUID();
    const last = new RegExp(`\\n${end} (\\d+)\\n$`);
    this.#bash.stdin.write(`sample_status=0\n{\n${command}\n} < /dev/null\n`);
    this.#bash.stdin.write(`printf '\\n${end} %s\\n' "$sample_status"\n`);
    const [, exitCode] = await pollUntil(`the end of: ${command}`, () => last.exec(this.#stdout), {
      timeoutMs: 60_000,
      everyMs: 10,
    }).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.#stdout}\n${this.#stderr}`, { cause: error });
    });
    return { stdout: this.#stdout.replace(last, ''), stderr: this.#stderr, exitCode: Number(exitCode) };
  }

  /** Kills bash and everything that it has started. */
  async stop(): Promise<void> {
    if (this.#bash.exitCode === null) process.kill(-this.#bash.pid!, 'SIGKILL');
    await this.#ended;
  }
}

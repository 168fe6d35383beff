// A RabbitMQ node for one suite: the installed program, with its own node name, ports and directory. It can be killed
// and restarted.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { pathOf } from '../run/requirements.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';

const definitionsFile = fileURLToPath(new URL('../../deploy/rabbitmq/definitions.json', import.meta.url));

/**
 * Permissions of each user: configure, write, read. docs/how-to/connect-mdm-queue.md lists those of `mdm` and `router`.
 */
const users = {
  mdm: ['^$', '^mdm\\.updates$', '^$'],
  router: ['^$', '^$', '^mdm\\.updates$'],
  operator: ['.*', '.*', '.*'],
} as const;
/** Returns the password of a user. */
const passwordOf = (user: keyof typeof users) => `only-for-tests-${user}`;

/** Prepares a node with the product's own definitions and the suite's users; it listens on 127.0.0.1 only. */
export async function createBroker() {
  const server = pathOf('rabbitmq-server');
  if (server === undefined) throw new Error('RabbitMQ is not installed');
  const dir = mkdtempSync(join(tmpdir(), 'service-router-broker-'));
  const [port, distributionPort] = [await findFreePort(), await findFreePort()];
  const env = environmentOf(dir, { port, distributionPort });
  writeConfiguration(dir, port);
  let child: ChildProcess | undefined;
  const run = promisify(execFile);
  const broker = {
    port,
    /**
     * Returns the URL for one of the suite's users: `mdm` may publish updates, `router` may consume them, `operator`
     * may do anything.
     */
    url: (user: keyof typeof users) => `amqp://${user}:${passwordOf(user)}@127.0.0.1:${port}`,
    /** Starts or restarts the node with all its data; does nothing while it runs. */
    async start() {
      if (isRunning(child)) return;
      const log = openSync(join(dir, 'output.log'), 'a');
      // The script runs in its own process group, because it starts Erlang as a child and `kill` must end both.
      child = spawn(server, [], { env, detached: true, stdio: ['ignore', log, log] });
      await pollUntil('RabbitMQ to listen', () => listens(port, child), { timeoutMs: 90_000, everyMs: 100 });
    },
    /** Sends SIGKILL, so that the node cannot write anything. */
    async kill() {
      if (!isRunning(child)) return;
      const ended = once(child, 'exit');
      process.kill(-Number(child.pid), 'SIGKILL');
      await ended;
      await pollUntil('the port of RabbitMQ to close', async () => !(await listens(port)), { timeoutMs: 10_000 });
    },
    /** Runs rabbitmqctl and returns the columns of each line of its output. */
    async control(...args: string[]): Promise<string[][]> {
      const { stdout } = await run(join(dirname(server), 'rabbitmqctl'), ['--quiet', ...args], { env });
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t'));
    },
    /** Kills the node and removes its directory. */
    async remove() {
      await broker.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return broker;
}

export type Broker = Awaited<ReturnType<typeof createBroker>>;

function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function environmentOf(dir: string, ports: { port: number; distributionPort: number }): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    // Folder of the Erlang cookie.
    HOME: dir,
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: `service-router-${randomUUID().slice(0, 8)}@localhost`,
    RABBITMQ_DIST_PORT: String(ports.distributionPort),
    RABBITMQ_MNESIA_BASE: join(dir, 'data'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'enabled_plugins'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // One scheduler is enough, and other programs need the machine's cores.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}',
  };
}

/** Definitions are imported at every boot, as in production. */
function writeConfiguration(dir: string, port: number): void {
  mkdirSync(join(dir, 'log'));
  const definitions = JSON.parse(readFileSync(definitionsFile, 'utf8')) as Record<string, unknown>;
  const names = Object.keys(users) as (keyof typeof users)[];
  const added = {
    users: names.map((name) => ({ name, password: passwordOf(name), tags: '' })),
    permissions: names.map((user) => {
      const [configure, write, read] = users[user];
      return { user, vhost: '/', configure, write, read };
    }),
  };
  const file = join(dir, 'definitions.json');
  writeFileSync(file, JSON.stringify({ ...definitions, ...added }));
  writeFileSync(join(dir, 'enabled_plugins'), '[].');
  const settings = [`listeners.tcp.1 = 127.0.0.1:${port}`, `load_definitions = ${file}`, 'log.console = false'];
  writeFileSync(join(dir, 'rabbitmq.conf'), settings.map((line) => `${line}\n`).join(''));
}

/** Returns true when the port accepts connections. @throws Error when the process has ended */
async function listens(port: number, child?: ChildProcess): Promise<boolean> {
  if (child !== undefined && child.exitCode !== null) throw new Error(`RabbitMQ ended with ${child.exitCode}`);
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

// The components of a world that can be killed and restarted, and how the loss of each affects clients.

import type { Program } from '../stack/program.ts';
import type { WrittenText } from './check-history.ts';
import type { Route } from './history.ts';

export type ComponentKind =
  | 'engine'
  | 'router'
  | 'worker'
  | 'Redis'
  | "engine's Redis"
  | 'PostgreSQL'
  | 'identity provider';

export interface Component {
  readonly kind: ComponentKind;
  /** Name, such as `engine 2`. */
  readonly name: string;
  /** Routes that may fail while the component is down. */
  readonly breaks: readonly Route[];
  /** Routes that must not be affected. */
  readonly spares: readonly Route[];
  /** Address of the component when it is a router. */
  readonly stops?: string | undefined;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Restarts the component at the same address, even after an unexpected exit; resolves when it is ready. */
  start(): Promise<void>;
}

/** One of the product's programs. */
export interface ProgramComponent extends Component {
  /** Returns the current process. */
  program(): Program;
}

/** Routes that need no execution. */
export const withoutExecution: readonly Route[] = ['token', 'health', 'refused'];
/** Every route but that of the data warehouse. */
export const allOthers: readonly Route[] = ['movies', 'adaptor', 'keyed', ...withoutExecution];
const executing: readonly Route[] = ['movies', 'adaptor', 'keyed'];

/** How the loss of a component affects routes. */
export type Loss = Pick<Component, 'breaks' | 'spares'>;

const losses: Readonly<Record<ComponentKind, Loss>> = {
  engine: { breaks: executing, spares: withoutExecution },
  "engine's Redis": { breaks: executing, spares: withoutExecution },
  PostgreSQL: { breaks: executing, spares: withoutExecution },
  worker: { breaks: executing, spares: withoutExecution },
  router: { breaks: executing, spares: [] },
  // Without Redis, a router cannot know whether another router holds the lock of a key.
  Redis: { breaks: ['keyed'], spares: allOthers.filter((route) => route !== 'keyed') },
  'identity provider': { breaks: ['token'], spares: allOthers.filter((route) => route !== 'token') },
};

/**
 * The effect of losing the router's Redis when the engine has no index: in this case, the router records every write in
 * Redis before it starts the write.
 */
export const recordsLoss: Loss = { breaks: ['keyed'], spares: ['movies', ...withoutExecution] };

/** Returns a third-party server as a component. @param loss replaces the default loss of the kind */
export function serverComponent(
  { kind, name = kind, loss = losses[kind] }: { kind: ComponentKind; name?: string; loss?: Loss | undefined },
  server: { kill(): Promise<void>; start(): Promise<void> },
): Component {
  return { kind, name, ...loss, kill: () => server.kill(), start: () => server.start() };
}

/** Returns a program as a component. @param options.keep receives the output of each process that is replaced */
export function programComponent(options: {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly stops?: string;
  /** Replaces the default loss of the kind. */
  readonly loss?: Loss;
  /** Returns the current process. */
  readonly program: () => Program;
  /** Starts a new process in place of the current one. */
  readonly launch: () => Promise<unknown>;
  readonly keep: (text: WrittenText) => void;
}): ProgramComponent {
  const { kind, name, stops, loss = losses[kind], program, launch, keep } = options;
  return {
    ...{ kind, name, stops, ...loss },
    program,
    kill: () => program().kill(),
    async start() {
      const ended = program();
      await launch();
      keep({ name, text: ended.output() });
    },
  };
}

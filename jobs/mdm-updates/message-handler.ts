// Handles the messages of MDM's update queue: starts mdm-shareWF for each, or logs why the message is dead-lettered.

import { setTimeout as pause } from 'node:timers/promises';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { MdmDefinitions } from '../reconcile/mdm-definitions.ts';
import { readUpdate } from './read-update.ts';
import { type ShareDependencies, shareOf, startShare } from './share-update.ts';

/** Outcome of a message: acknowledged, dead-lettered, or returned to its queue. */
export type MessageOutcome = 'started' | 'rejected' | 'returned';

/** The fields of a message that the handler reads. */
export interface UpdateMessage {
  /** The body as `rabbitmq-client` gives it: parsed for `application/json`, otherwise text or bytes. */
  readonly body: unknown;
  readonly messageId?: string | undefined;
  readonly redelivered: boolean;
}

/** Dependencies of the handler. */
export interface MessageHandlerOptions extends ShareDependencies {
  /** Returns the active definitions. */
  readonly mdmDefinitions: () => MdmDefinitions;
  readonly log: Logger;
  /** Time between two attempts to start mdm-shareWF, in milliseconds. */
  readonly retryMs: number;
  /** Aborts when the router stops. */
  readonly stopping: AbortSignal;
}

/**
 * Number of refusals with a 4xx status after which a message is rejected. The start is retried until then, because an
 * engine also refuses to start a workflow whose definition is not registered yet.
 */
const maxRefusals = 5;

/** Handles messages. While the engine does not respond, a message is held and the start is retried. */
export class MessageHandler {
  readonly #options: MessageHandlerOptions;
  #isEngineAway = false;

  constructor(options: MessageHandlerOptions) {
    this.#options = options;
  }

  /** Handles a message; resolves when its execution of mdm-shareWF has started, or when the handler gives up. */
  async handle(message: UpdateMessage): Promise<MessageOutcome> {
    const { mdmDefinitions, stopping, retryMs } = this.#options;
    const update = readUpdate(message.body);
    if ('wrong' in update) return this.#reject(message, update.wrong);
    const share = shareOf(update, mdmDefinitions());
    if (share === undefined) return this.#reject(message, 'misCode: no event handler shares cccids with this college');
    let refusals = 0;
    let isRepeat = message.redelivered;
    while (!stopping.aborted) {
      try {
        await startShare(share, this.#options, isRepeat);
        this.#isEngineAway = false;
        return 'started';
      } catch (error) {
        const status = refusalOf(error);
        isRepeat ||= !(error instanceof EngineError && error.hadNoEffect);
        if (status === undefined) this.#reportAway(error);
        else if (++refusals === maxRefusals)
          return this.#reject(
            message,
            `the engine refuses ${share.name} version ${share.version} with status ${status}`,
          );
        await pause(retryMs, undefined, { signal: stopping }).catch(() => undefined);
      }
    }
    return 'returned';
  }

  #reject({ messageId }: UpdateMessage, reason: string): MessageOutcome {
    // Logs the reason and the message id, but no field values, because they identify a person.
    this.#options.log.warn({ messageId, reason }, 'rejected a message from MDM, see docs/explanation/mdm-sync.md');
    return 'rejected';
  }

  #reportAway(error: unknown): void {
    // Stopping the router closes the engine client, which causes this error.
    if (this.#options.stopping.aborted) return;
    if (!this.#isEngineAway) this.#options.log.warn(errorFields(error), 'cannot share updates from MDM now');
    this.#isEngineAway = true;
  }
}

/** Returns the status of a definite refusal by the engine; undefined when a retry may succeed. @throws other errors */
function refusalOf(error: unknown): number | undefined {
  if (!(error instanceof EngineError)) throw error;
  return error.status === undefined || isRetryableStatus(error.status) ? undefined : error.status;
}

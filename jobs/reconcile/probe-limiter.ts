// Who may ask a back end next: few at a time, one when it did not answer the last, so that those who ask leave room for clients.

/**
 * Questions to one back end at a time, once it answers: half of the tasks that a worker process takes at once by
 * default. When it stops answering, those that are out keep their places, and other colleges need the rest.
 */
const mostAsking = 4;
/** Questions at a time to all those together of which nobody knows that they answer. */
const mostUnproven = 2;
/** Longest pause after questions without an answer, in milliseconds. */
const maxPauseMs = 600_000;

interface BackEnd {
  /** Executions whose question is under way. */
  readonly asking: Set<string>;
  allowed: number;
  pauseMs: number;
  /** Milliseconds since 1970. */
  pausedUntil: number;
}

/** For whom who is asked. */
export interface Question {
  readonly backEnd: string;
  readonly executionId: string;
}

export type QuestionState = 'under-way' | 'answered' | 'unanswered';

/** Turns at every back end that was asked. */
export class ProbeLimiter {
  readonly #backEnds = new Map<string, BackEnd>();
  readonly #firstPauseMs: number;

  /** @param firstPauseMs after a question without an answer, in milliseconds; it doubles with each up to ten minutes */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** True when this execution may ask now; it has its turn until `note` says that its question has ended, or `leave`. */
  take({ backEnd, executionId }: Question, now: number): boolean {
    const { asking, allowed, pausedUntil } = this.#of(backEnd);
    if (asking.size >= allowed || now < pausedUntil) return false;
    if (allowed === 1 && this.#unproven() >= mostUnproven) return false;
    asking.add(executionId);
    return true;
  }

  /** What became of a question; one from before this process is known from then on. */
  note({ backEnd, executionId }: Question, state: QuestionState, now: number): void {
    const turn = this.#of(backEnd);
    if (state === 'under-way') return void turn.asking.add(executionId);
    if (!turn.asking.delete(executionId)) return;
    if (state === 'answered') {
      turn.allowed = Math.min(turn.allowed * 2, mostAsking);
      turn.pauseMs = this.#firstPauseMs;
      return;
    }
    turn.allowed = 1;
    turn.pausedUntil = now + turn.pauseMs;
    turn.pauseMs = Math.min(turn.pauseMs * 2, maxPauseMs);
  }

  /** Nobody asks for this execution any more. */
  leave(executionId: string): void {
    for (const { asking } of this.#backEnds.values()) asking.delete(executionId);
  }

  #unproven(): number {
    return [...this.#backEnds.values()].reduce(
      (sum, { allowed, asking }) => sum + (allowed === 1 ? asking.size : 0),
      0,
    );
  }

  #of(backEnd: string): BackEnd {
    const known = this.#backEnds.get(backEnd);
    if (known !== undefined) return known;
    const turn: BackEnd = { asking: new Set(), allowed: 1, pauseMs: this.#firstPauseMs, pausedUntil: 0 };
    this.#backEnds.set(backEnd, turn);
    return turn;
  }
}

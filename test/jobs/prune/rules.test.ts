// Tests of prune rules from the configuration or the options of a command, and of the loop that runs prune rounds.

import { describe, expect, it } from 'vitest';
import { type RuleOptions, rulesFor } from '../../../cli/input/prune-rules.ts';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { endedStatuses, failedStatuses } from '#lib/conductor/executions/has-ended.ts';
import { startPruneLoop } from '../../../jobs/prune/prune-loop.ts';
import { createPruneRound } from '../../../jobs/prune/round.ts';
import { problemsOf, readRules } from '../../../jobs/prune/rules.ts';
import { pollUntil } from '../../stack/poll-until.ts';

const routes = [
  { name: 'movies', workflow: 'moviesWF' },
  { name: 'adaptor', workflow: 'college-adaptorWF' },
  { name: 'adaptor-slow', workflow: 'college-adaptorWF' },
];
const workflows = ['moviesWF', 'college-adaptorWF', 'mdmWF'];
const dayMs = 86_400_000;
/** Returns the rules when the engine has executions of these workflows. */
const rulesOf = (config: Config, names = workflows) =>
  readRules(config, routes, { api: { workflows: async () => names }, now: Date.now() });
const commandRules = (options: RuleOptions, config: Config) =>
  rulesFor(options, { config, routes, api: { workflows: async () => workflows }, now: Date.now() });
const configOf = async (env: Record<string, string> = {}) => (await loadConfig({ env })).config;

describe('rules of the configuration', () => {
  it('no rules for routes: two rules cover everything', async () => {
    const config = await configOf({ PRUNE_COMPLETEDDAYS: '7', PRUNE_FAILEDDAYS: '90' });
    expect(await rulesOf(config)).toEqual([
      { name: 'completed', statuses: ['COMPLETED'], olderThanMs: 7 * dayMs },
      { name: 'failed', statuses: failedStatuses, olderThanMs: 90 * dayMs },
    ]);
  });

  it('a rule for a route: each general rule is split into one rule for each of the other workflows', async () => {
    const config = await configOf({ 'prune.movies.days': '2' });
    const rules = await rulesOf(config);
    expect(rules[0]).toEqual({
      name: 'route movies',
      statuses: endedStatuses,
      olderThanMs: 2 * dayMs,
      workflow: 'moviesWF',
    });
    const others = rules.slice(1);
    expect(others.map(({ workflow }) => workflow)).toEqual([
      'college-adaptorWF',
      'college-adaptorWF',
      'mdmWF',
      'mdmWF',
    ]);
  });

  it('a route that shares its workflow: its rule selects executions by route, and the general rules exclude that route', async () => {
    const config = await configOf({ 'prune.adaptor-slow.days': '60' });
    const rules = await rulesOf(config);
    expect(rules[0]).toMatchObject({ route: 'adaptor-slow', workflow: 'college-adaptorWF', olderThanMs: 60 * dayMs });
    expect(rules.filter(({ route }) => route !== undefined)).toHaveLength(1);
    // These rules also cover executions that the reconciler started, and those without a route.
    const general = rules.slice(1).filter(({ workflow }) => workflow === 'college-adaptorWF');
    expect(general).toMatchObject([
      { name: 'completed', exceptRoutes: ['adaptor-slow'] },
      { name: 'failed', exceptRoutes: ['adaptor-slow'] },
    ]);
  });

  it('a rule for each route of a workflow: the general rules cover only its other executions', async () => {
    const config = await configOf({ 'prune.adaptor.days': '10', 'prune.adaptor-slow.days': '60' });
    const exceptRoutes = ['adaptor', 'adaptor-slow'];
    expect((await rulesOf(config, ['college-adaptorWF'])).slice(2)).toMatchObject([{ exceptRoutes }, { exceptRoutes }]);
  });

  it('a route with two workflows: a rule for each workflow, and no general rule for these workflows', async () => {
    const config = await configOf({ 'prune.movies.days': '60' });
    const both = [...routes, { name: 'movies', workflow: 'filmsWF' }];
    const api = { workflows: async () => ['moviesWF', 'filmsWF'] };
    expect(await readRules(config, both, { api, now: Date.now() })).toMatchObject([
      { name: 'route movies', workflow: 'moviesWF', olderThanMs: 60 * dayMs },
      { name: 'route movies', workflow: 'filmsWF', olderThanMs: 60 * dayMs },
    ]);
  });

  it('a route whose workflow is also the second workflow of another route: its rule selects by route', async () => {
    const config = await configOf({ 'prune.films.days': '2' });
    const sharing = [...routes, { name: 'movies', workflow: 'filmsWF' }, { name: 'films', workflow: 'filmsWF' }];
    const [rule] = await readRules(config, sharing, { api: { workflows: async () => ['filmsWF'] }, now: Date.now() });
    expect(rule).toMatchObject({ name: 'route films', workflow: 'filmsWF', route: 'films' });
  });

  it('rejects ages within the look-back of the reconciler', async () => {
    const config = await configOf();
    const rule = (olderThanMs: number) => [{ name: 'x', statuses: endedStatuses, olderThanMs }];
    expect(problemsOf(rule(dayMs), config)).toHaveLength(1);
    expect(problemsOf(rule(2 * dayMs), config)).toEqual([]);
  });

  it('rejects general ages within the look-back, even if a route has its own rule', async () => {
    const config = await configOf({ PRUNE_COMPLETEDDAYS: '1', 'prune.movies.days': '60' });
    const log = createLog('test', 'silent');
    await expect(createPruneRound(config, routes, log)).rejects.toThrow('the reconciler looks back that far');
  });
});

describe('rules of a command', () => {
  it('--route with two workflows: a rule for each workflow', async () => {
    const config = await configOf();
    const sources = {
      config,
      routes: [...routes, { name: 'movies', workflow: 'filmsWF' }],
      api: { workflows: async () => workflows },
      now: Date.now(),
    };
    const byAge = await rulesFor({ route: 'movies', olderThan: '7d' }, sources);
    expect(byAge.map(({ workflow }) => workflow)).toEqual(['moviesWF', 'filmsWF']);
    const configured = await rulesFor({ route: 'movies' }, sources);
    expect(configured.map(({ workflow }) => workflow)).toEqual(['moviesWF', 'moviesWF', 'filmsWF', 'filmsWF']);
  });

  it('--older-than: one rule for the given options', async () => {
    const config = await configOf();
    expect(await commandRules({ olderThan: '7d', state: 'failed', route: 'movies' }, config)).toEqual([
      { name: 'route movies, failed', statuses: ['FAILED'], olderThanMs: 7 * dayMs, workflow: 'moviesWF' },
    ]);
    expect(await commandRules({ olderThan: '7d', route: 'adaptor' }, config)).toMatchObject([{ route: 'adaptor' }]);
    expect(await commandRules({ olderThan: '7d', workflow: 'mdmWF' }, config)).toMatchObject([{ workflow: 'mdmWF' }]);
  });

  it('without --older-than: the ages of the configuration, by state or by route', async () => {
    const config = await configOf({ PRUNE_FAILEDDAYS: '90', 'prune.movies.days': '2' });
    const days = async (options: RuleOptions) =>
      (await commandRules(options, config)).map(({ name, workflow, olderThanMs }) => [
        name,
        workflow,
        olderThanMs / dayMs,
      ]);
    expect(await days({ workflow: 'mdmWF' })).toEqual([
      ['completed', 'mdmWF', 30],
      ['failed', 'mdmWF', 90],
    ]);
    expect(await days({ route: 'movies', state: 'completed' })).toEqual([['route movies, completed', 'moviesWF', 2]]);
    expect(await days({ route: 'adaptor', state: 'failed' })).toEqual([
      ['route adaptor, failed', 'college-adaptorWF', 90],
    ]);
    expect(await commandRules({}, config)).toEqual(await rulesOf(config));
  });

  it('--workflow and --state never delete what the rule of a route keeps', async () => {
    const config = await configOf({ 'prune.movies.days': '365', 'prune.adaptor-slow.days': '400' });
    expect(await commandRules({ workflow: 'moviesWF' }, config)).toMatchObject([{ olderThanMs: 365 * dayMs }]);
    expect(await commandRules({ workflow: 'college-adaptorWF' }, config)).toMatchObject([
      { route: 'adaptor-slow', olderThanMs: 400 * dayMs },
      { exceptRoutes: ['adaptor-slow'], olderThanMs: 30 * dayMs },
      { exceptRoutes: ['adaptor-slow'], olderThanMs: 30 * dayMs },
    ]);
    const failed = await commandRules({ state: 'failed' }, config);
    expect(failed.every(({ statuses }) => statuses.join() === 'FAILED')).toBe(true);
    expect([...new Set(failed.map(({ name }) => name))]).toEqual([
      'route movies, failed',
      'route adaptor-slow, failed',
      'failed',
    ]);
    expect(failed.filter(({ workflow }) => workflow === 'moviesWF')).toMatchObject([{ olderThanMs: 365 * dayMs }]);
  });

  it('rejects an unknown route, and a route together with a workflow', async () => {
    const config = await configOf();
    await expect(commandRules({ route: 'film' }, config)).rejects.toThrow(
      'film is not one of movies, adaptor, adaptor-slow',
    );
    await expect(commandRules({ route: 'movies', workflow: 'mdmWF' }, config)).rejects.toThrow('not both');
  });
});

describe('the prune loop', () => {
  const report = { executions: 1, kept: 0, orphans: 0, events: null, isComplete: true };
  const log = createLog('test', 'silent');

  it('continues after a failed round', async () => {
    let rounds = 0;
    const round = async () => {
      rounds++;
      if (rounds === 1) throw new Error('the engine is away');
      return report;
    };
    const loop = startPruneLoop({ round, intervalMs: 5, log });
    await pollUntil('a third round', () => rounds >= 3);
    await loop.stop();
    const atStop = rounds;
    await new Promise((resolve) => setImmediate(resolve));
    expect(rounds).toBe(atStop);
  });

  it('reports the failure of an incomplete round, and repeats the round', async () => {
    let rounds = 0;
    const second = Promise.withResolvers<typeof report>();
    const round = async () => {
      rounds++;
      return rounds === 1 ? { ...report, failure: new Error('Redis does not respond') } : second.promise;
    };
    const loop = startPruneLoop({ round, intervalMs: 5, log });
    await pollUntil('a second round', () => rounds === 2);
    expect(loop.failure()).toBe('Redis does not respond');
    second.resolve(report);
    await pollUntil('the failure to be cleared', () => loop.failure() === undefined);
    await loop.stop();
  });

  it('aborts the current round when it is stopped, and waits for the round to end', async () => {
    const begun = Promise.withResolvers<void>();
    let ended = false;
    const round = async (signal: AbortSignal) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      ended = true;
      return { ...report, isComplete: false };
    };
    const loop = startPruneLoop({ round, intervalMs: 1, log });
    await begun.promise;
    await loop.stop();
    expect(ended).toBe(true);
  });
});

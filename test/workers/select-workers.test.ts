// Tests of selecting workers by configuration, and of configuration errors.

import { describe, expect, test } from 'vitest';
import { ConfigError } from '#lib/config/load.ts';
import { configSchema } from '#lib/config/schema.ts';
import { type WorkerRegistration, workers } from '../../workers/index.ts';
import { selectWorkers } from '../../workers/select-workers.ts';
import { configOf } from './started-workers.ts';

const backEnd = { format: 'back-end-url' };

async function selected(values: Record<string, string>): Promise<string[]> {
  const config = await configOf(values);
  const callBackEnd = () => Promise.reject(new Error('not called'));
  return selectWorkers(config).map(({ create }) => create({ config, callBackEnd }).taskDefName);
}

describe('selectWorkers', () => {
  test('every registration makes the worker of its name', async () => {
    const config = await configOf({});
    const callBackEnd = () => Promise.reject(new Error('not called'));
    for (const [name, { create }] of Object.entries(workers)) {
      expect(create({ config, callBackEnd }).taskDefName).toBe(name);
    }
  });

  test('no domain → every task type of the default pool: all but mdm_share', async () => {
    const others = Object.keys(workers).filter((name) => name !== 'mdm_share');
    expect((await selected({})).sort()).toEqual(others.toSorted());
  });

  test('a domain → the task types that have tasks there', async () => {
    expect((await selected({ 'workers.domain': '002' })).sort()).toEqual(['college-adaptor_intake', 'mdm_share']);
  });

  test('the address that a worker needs is a key of the type back-end URL, so that it is checked', () => {
    const properties: Readonly<Record<string, unknown>> = configSchema.properties;
    const needed = Object.values<WorkerRegistration>(workers).flatMap(({ needs }) =>
      needs === undefined ? [] : [needs],
    );
    expect(needed).not.toEqual([]);
    for (const key of needed) expect([key, properties[key]]).toEqual([key, expect.objectContaining(backEnd)]);
  });

  test('workers.taskTypes narrows the list', async () => {
    expect(await selected({ 'workers.taskTypes': 'movies_intake' })).toEqual(['movies_intake']);
    expect(await selected({ 'workers.domain': '002', 'workers.taskTypes': 'mdm_share' })).toEqual(['mdm_share']);
  });

  test('unknown names and names of the other pool → one error that lists them all', async () => {
    const values = { 'workers.taskTypes': 'movie_intake,mdm_share' };
    const error: unknown = await selected(values).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    const { problems } = error as ConfigError;
    expect(problems).toHaveLength(2);
    expect(problems.join('\n')).toMatch(/movie_intake is not a task type; known are .*movies_intake/);
    expect(problems.join('\n')).toMatch(/mdm_share has tasks in domains only: set workers.domain/);
    await expect(selected({ 'workers.domain': '002', 'workers.taskTypes': 'movies_intake' })).rejects.toThrow(
      /domain empty/,
    );
  });

  test('a missing address that a selected worker needs → an error that names its key', async () => {
    const config = { ...(await configOf({})), 'movies.url': undefined, 'mdm.url': undefined };
    expect(() => selectWorkers(config)).toThrow(/movies\.url is not set(.|\n)*mdm\.url is not set/);
    expect(selectWorkers({ ...config, 'workers.taskTypes': ['lms-dw_intake'] })).toHaveLength(1);
  });
});

// Tests of the selection of workers by configuration, and of its configuration errors.

import { describe, expect, test } from 'vitest';
import { backEndsOf } from '#lib/config/back-ends.ts';
import { ConfigError } from '#lib/config/load.ts';
import { configSchema } from '#lib/config/schema.ts';
import { backEndWorkers } from '../../workers/back-end_intake.ts';
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
  test('every registration creates the worker with its name', async () => {
    const config = await configOf({});
    const callBackEnd = () => Promise.reject(new Error('not called'));
    for (const [name, { create }] of Object.entries({ ...backEndWorkers(config), ...workers })) {
      expect(create({ config, callBackEnd }).taskDefName).toBe(name);
    }
  });

  test('no domain → every task type of the default pool: all but mdm_share', async () => {
    const others = Object.keys(workers).filter((name) => name !== 'mdm_share');
    const backEnds = Object.keys(backEndWorkers(await configOf({})));
    expect(backEnds).toEqual(expect.arrayContaining(['lms-dw_intake', 'movies_intake']));
    expect((await selected({})).sort()).toEqual([...others, ...backEnds].toSorted());
  });

  test('a domain → the task types that have tasks there', async () => {
    expect((await selected({ 'workers.domain': '002' })).sort()).toEqual(['college-adaptor_intake', 'mdm_share']);
  });

  test('every key that a worker needs has the format back-end-url, so its value is checked', () => {
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

  test('a plain back end with an address → served in the default pool, and in a domain only if named', async () => {
    const catalog = { 'backEnd.course-catalog.url': 'http://catalog.example' };
    expect(await selected(catalog)).toContain('course-catalog_intake');
    expect(await selected({ BACKEND_COURSE_CATALOG_URL: 'http://catalog.example' })).toContain('course-catalog_intake');
    const beside = { ...catalog, 'workers.domain': '002' };
    expect(await selected(beside)).not.toContain('course-catalog_intake');
    const named = { ...beside, 'workers.taskTypes': 'course-catalog_intake,mdm_share' };
    expect(await selected(named)).toEqual(['course-catalog_intake', 'mdm_share']);
  });

  test('a back end without an address → not a task type of this process', async () => {
    const config = { ...(await configOf({})), 'movies.url': undefined };
    expect(Object.keys(backEndWorkers(config))).not.toContain('movies_intake');
  });

  test('backEnd.<name>.url takes precedence over the older key of the same back end', async () => {
    const config = await configOf({ 'backEnd.movies.url': 'http://films.example' });
    expect(backEndsOf(config)).toMatchObject({ movies: 'http://films.example' });
  });

  test('unknown names and names of the other pool → one error that lists them all', async () => {
    const values = { 'workers.taskTypes': 'example_intake,mdm_share' };
    const error: unknown = await selected(values).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    const { problems } = error as ConfigError;
    expect(problems).toHaveLength(2);
    expect(problems.join('\n')).toMatch(/example_intake is not a task type; the known ones are .*movies_intake/);
    expect(problems.join('\n')).toMatch(/to add a back end named example, set backEnd\.example\.url/);
    expect(problems.join('\n')).toMatch(/mdm_share runs only in task domains: set workers.domain/);
    await expect(selected({ 'workers.domain': '002', 'workers.taskTypes': 'mdm_notify' })).rejects.toThrow(
      /domain empty/,
    );
  });

  test('a pool whose task types must be named, but none is named → an error that lists them', async () => {
    const config = await configOf({ 'workers.domain': '002', 'backEnd.sis.url': 'http://sis.example' });
    expect(() => selectWorkers(config, {})).toThrow(
      /workers\.taskTypes is empty, and this pool serves only task types that are named there: name one or more of .*sis_intake/,
    );
    const named = { ...config, 'workers.taskTypes': ['sis_intake'] };
    expect(selectWorkers(named, {})).toHaveLength(1);
  });

  test('a pool without any task type → no worker, and no error', async () => {
    const config = { ...(await configOf({})), 'movies.url': undefined, 'lmsDW.url': undefined };
    expect(selectWorkers(config, {})).toEqual([]);
    expect(selectWorkers({ ...config, 'workers.domain': '002' }, {})).toEqual([]);
    expect(() => selectWorkers({ ...config, 'workers.taskTypes': ['sis_intake'] }, {})).toThrow(/not a task type/);
  });

  test('a missing address that a selected worker needs → an error that names its key', async () => {
    const config = { ...(await configOf({})), 'movies.url': undefined, 'mdm.url': undefined };
    expect(() => selectWorkers(config)).toThrow(/mdm\.url is not set/);
    expect(() => selectWorkers({ ...config, 'workers.taskTypes': ['movies_intake'] })).toThrow(/set movies\.url/);
    expect(selectWorkers({ ...config, 'workers.taskTypes': ['lms-dw_intake'] })).toHaveLength(1);
  });
});

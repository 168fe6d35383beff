// Tests of adding a route to the text of gateway.config.yml: nothing else in the text changes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { addToGatewayConfig, type RouteToAdd } from '../../../cli/edit/gateway-config.ts';
import { productDir } from '../../lib/conductor/definitions/copy-of-product.ts';

const shipped = readFileSync(join(productDir, 'gateway.config.yml'), 'utf8');
const route: RouteToAdd = {
  ...{ name: 'example', summary: 'Courses: all of them', paths: ['/example/:id'], methods: ['GET'] },
  ...{ workflow: 'exampleWF', strip: '/example' },
};
const none = new Set<string>();

interface Parsed {
  apiEndpoints: Record<string, { paths: unknown }>;
  pipelines: Record<string, { policies: unknown }>;
}
const added = (text: string, neighbours: ReadonlySet<string> = none, given = route) =>
  addToGatewayConfig(text, given, neighbours);

/** Returns the text without the lines that were added. */
function withoutAdded(text: string, before: string): string {
  const rest = before.split('\n');
  const kept = text.split('\n').filter((line) => line === rest[0] && rest.shift() !== undefined);
  return kept.join('\n');
}

describe('addToGatewayConfig', () => {
  it('the shipped file: the new entries follow those of the last workflow, and every other line is unchanged', () => {
    const text = added(shipped, new Set(['adaptor', 'movies']));
    expect(withoutAdded(text, shipped)).toBe(shipped);
    const { apiEndpoints, pipelines } = parse(text) as Parsed;
    for (const names of [Object.keys(apiEndpoints), Object.keys(pipelines)])
      expect(names.slice(names.indexOf('movies'))).toEqual(
        expect.arrayContaining(['movies', 'example', 'executions', 'problems']),
      );
    expect(apiEndpoints['example']).toEqual({ summary: route.summary, paths: '/example/:id', methods: ['GET'] });
    expect(pipelines['example']?.policies).toEqual([
      { bearer: null },
      { 'rate-limit': [{ action: { requests: '${router.rateLimitPerSecond}' } }] },
      { 'in-flight': null },
      { workflow: [{ action: { name: 'exampleWF', version: 1, strip: '/example' } }] },
    ]);
  });

  it('several paths, a scope for writes and an MIS code → a list, and the policies for them', () => {
    const { apiEndpoints, pipelines } = parse(
      added(shipped, none, { ...route, paths: ['/c/:mis', '/c/:mis/*'], writeScope: 'w', misCodes: 'mis' }),
    ) as Parsed;
    expect(apiEndpoints['example']?.paths).toEqual(['/c/:mis', '/c/:mis/*']);
    expect(pipelines['example']?.policies).toEqual(
      expect.arrayContaining([
        { bearer: [{ action: { writeScope: 'w' } }] },
        { 'mis-codes': [{ action: { parameter: 'mis' } }] },
      ]),
    );
  });

  it.each(['true', 'null', 'no', 'example'])(
    'the name %s, and values that YAML could misread → written as strings',
    (name) => {
      const given = {
        ...route,
        ...{ name, summary: 'no # comment', paths: ['/123 #4', '/a [b]'], workflow: '1e3', strip: '/a, b: c' },
        ...{ writeScope: '123', misCodes: 'true' },
      };
      const { apiEndpoints, pipelines } = parse(added(shipped, none, given)) as Parsed;
      expect(apiEndpoints[name]).toEqual({ summary: given.summary, paths: given.paths, methods: ['GET'] });
      expect(pipelines[name]?.policies).toEqual(
        expect.arrayContaining([
          { bearer: [{ action: { writeScope: '123' } }] },
          { 'mis-codes': [{ action: { parameter: 'true' } }] },
          { workflow: [{ action: { name: '1e3', version: 1, strip: '/a, b: c' } }] },
        ]),
      );
      expect(pipelines[name]).toMatchObject({ apiEndpoints: [name] });
      const single = parse(added(shipped, none, { ...route, paths: ['/123 #4'] })) as Parsed;
      expect(single.apiEndpoints['example']?.paths).toBe('/123 #4');
    },
  );

  it('four-space indentation, CRLF, a final comment without a newline → all are preserved', () => {
    const text = [
      'apiEndpoints:',
      "    'a': { paths: /a } # first",
      '# between',
      'pipelines:',
      '    a:',
      '        apiEndpoints: [a]',
      '        policies:',
      '            - bearer: # last',
    ].join('\r\n');
    const result = added(text);
    expect(withoutAdded(result.replaceAll('\r', ''), text.replaceAll('\r', ''))).toBe(text.replaceAll('\r', ''));
    expect(result.match(/(?<!\r)\n/)).toBeNull();
    expect(result).toContain("'a': { paths: /a } # first\r\n    example:\r\n      summary");
    expect(Object.keys((parse(result) as Parsed).pipelines)).toEqual(['a', 'example']);
  });

  it('the preceding entry ends with block scalars → the new entry is added after them', () => {
    for (const newline of ['\n', '\r\n']) {
      const text = [
        ...['apiEndpoints:', '  a:', '    paths: /a', '    summary: >', '      folded', '      text', 'pipelines:'],
        ...['  a:', '    apiEndpoints: [a]', '    policies:', '      - note: |', '          literal', ''],
      ].join(newline);
      const result = added(text);
      expect(withoutAdded(result.replaceAll('\r', ''), text.replaceAll('\r', ''))).toBe(text.replaceAll('\r', ''));
      expect(result.match(/(?<!\r)\n/) === null).toBe(newline === '\r\n');
      const { apiEndpoints, pipelines } = parse(result) as Parsed;
      expect(Object.keys(apiEndpoints)).toEqual(['a', 'example']);
      expect(Object.keys(pipelines)).toEqual(['a', 'example']);
      expect(result).not.toContain(`${newline}${newline}${newline}`);
    }
  });

  it('a map on one line: refused', () => {
    expect(() => added('apiEndpoints: {}\npipelines: {}\n')).toThrow(
      /apiEndpoints must be a map with one key on each line/,
    );
  });
});

// Tests of the engine's arguments.

import { expect, it } from 'vitest';
import { engineArguments } from '../../../dev/engine/engine-arguments.ts';

it('passes the SQLite file as a URL, because a ? would end its path', () => {
  const [, dataSource] = engineArguments({ properties: [], database: '/why?/conductor.db', port: 1 });
  expect(dataSource).toMatch(/^--spring\.datasource\.url=jdbc:sqlite:file:\/\/\/why%3F\/conductor\.db\?busy_timeout=/);
});

it('passes property files as URLs, which Spring decodes', () => {
  const properties = ['/our router/a.properties', '/issue #1/100%?/b.properties'];
  expect(engineArguments({ properties, database: '/x.db', port: 1 })).toContain(
    '--spring.config.additional-location=file:///our%20router/a.properties,file:///issue%20%231/100%25%3F/b.properties',
  );
});

// Tests of npm run audit: with a registry that supports audits, and with one that does not.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readAudit } from '../../../tools/supply-chain/audit.ts';
import { rootDir } from '../../docs/pages.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Runs the audit against a registry that sends the same response to every request. */
async function audit(status: number, body: string): Promise<{ code: number | null; printed: string }> {
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, npm_config_registry: registry, npm_config_fetch_retries: '0', npm_config_logs_max: '0' };
  const child = spawn(process.execPath, ['tools/supply-chain/main.ts', 'audit'], { cwd: rootDir, env });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, printed };
}

describe('npm run audit', () => {
  it('no known advisories → exit code 0', async () => {
    expect(await audit(200, '{}')).toEqual({ code: 0, printed: '0 high or critical of 0 advisories\n' });
  });

  it('a registry without audits → exit code 2 and a message that says what to do', async () => {
    const { code, printed } = await audit(405, '{"error":"not allowed"}');
    expect(code).toBe(2);
    expect(printed).toMatch(
      /^The registry could not be asked for advisories: .+\nRun the audit where npm may send POST/,
    );
  });
});

describe('the report', () => {
  const report = (vulnerabilities: object) => JSON.stringify({ auditReportVersion: 2, vulnerabilities });

  it('names the high and critical advisories, and counts all', () => {
    const found = {
      a: { severity: 'critical', range: '<2.0.0' },
      b: { severity: 'high' },
      c: { severity: 'moderate' },
    };
    expect(readAudit(report(found))).toEqual({
      completed: true,
      severe: ['a <2.0.0: critical', 'b *: high'],
      total: 3,
    });
  });

  it.each(['', 'npm error', '[]', '{}', '{"auditReportVersion":2}', '{"message":"405 Method Not Allowed"}'])(
    '%j is not a report',
    (stdout) => {
      expect(readAudit(stdout)).toMatchObject({ completed: false, reason: expect.stringMatching(/./) });
    },
  );
});

// Tests of the load-shedding check of the policy `workflow`: it rejects what admission control would reject, except for
// writes whose Idempotency-Key may belong to an execution that was carried out.

import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { SheddingCheck } from '../../../../gateway/plugin-api/plugin-api.ts';
import { type RequestContext, setContext } from '../../../../gateway/plugin-api/request-context.ts';
import type { AdmissionSubject } from '../../../../plugins/conductor/admission/admission.ts';
import { createWorkflowPolicy, type WorkflowDependencies } from '../../../../plugins/conductor/workflow/workflow.ts';

const { config } = await loadConfig({ env: {} });

/** Checks a request while admission control rejects everything. */
function check(method: string, headers: Record<string, string>, clientId: string | undefined) {
  const shed: AdmissionSubject[] = [];
  const dependencies = {
    admission: {
      isShedding: true,
      shed: (subject: AdmissionSubject) => {
        shed.push(subject);
        throw new Problem('overloaded');
      },
    },
    backEnds: { get: (name: string) => name },
  } as unknown as WorkflowDependencies;
  const { loadShedding } = createWorkflowPolicy(config, dependencies);
  const shedding = loadShedding?.({ domain: { param: 'mis' } } as never) as SheddingCheck;
  expect(shedding.isShedding?.()).toBe(true);
  const request = Object.assign(new IncomingMessage(new Socket()), { method, headers });
  const context = { route: 'adaptor', clientId, clientAddress: '192.0.2.1' } as unknown as RequestContext;
  setContext(request, context);
  const result = () => shedding.check({ request, context, params: { mis: '001' } });
  return { result, shed };
}

const key = { 'idempotency-key': 'k-1' };

describe('the load-shedding check of a workflow', () => {
  it.each([
    ['a read', 'GET', {}, 'demo', 'read', 'client demo'],
    ['a read with a key, which is ignored,', 'GET', key, 'demo', 'read', 'client demo'],
    ['a write without a key', 'PATCH', {}, 'demo', 'write', 'client demo'],
    ['a write with a key but no client', 'PATCH', key, undefined, 'write', 'address 192.0.2.1'],
  ])('%s is rejected', (_, method, headers, clientId, requestClass, client) => {
    const { result, shed } = check(method, headers, clientId);
    expect(result).toThrow(Problem);
    expect(shed).toEqual([{ backEnd: expect.stringContaining('adaptor'), requestClass, client }]);
  });

  it("a client's write with a key is left to the pipeline", () => {
    const { result, shed } = check('PATCH', key, 'demo');
    expect(result()).toBe('unsure');
    expect(shed).toEqual([]);
  });
});

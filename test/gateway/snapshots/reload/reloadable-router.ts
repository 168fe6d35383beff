// A router process with its own gateway configuration and property file, which a test can change while the router runs.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createKey } from '../../../plugins/oauth2/forge.ts';
import { startProviderStandIn } from '../../../plugins/oauth2/provider-stand-in.ts';
import { readCounts } from '../../../stack/metrics.ts';
import { reload } from '../../../stack/reload.ts';
import { startProgram } from '../../../stack/program.ts';

const rootDir = fileURLToPath(new URL('../../../..', import.meta.url));

/** Returns the product's gateway configuration with a few test paths, which need neither token nor engine. */
export function mapWith({ says = 'first', port = '${router.port}' }: { says?: string; port?: string } = {}): string {
  const map = readFileSync(join(rootDir, 'gateway.config.yml'), 'utf8');
  const policies = /^ {2}\[token, [^\]]*\]$/m;
  return map
    .replace('port: ${router.port}', `port: ${port}`)
    .replace('\napiEndpoints:\n', '\napiEndpoints:\n  held: { paths: /held }\n  counted: { paths: /counted }\n')
    .replace('\nplugins:\n', '\nplugins:\n  held: { package: PLUGIN }\n')
    .replace(policies, (list) => list.replace(']', ', held]'))
    .replace(
      '\npipelines:\n',
      `\npipelines:
  held: { apiEndpoints: [held], policies: [{ held: { action: { says: ${says}, waits: true } } }] }
  counted:
    apiEndpoints: [counted]
    policies:
      - rate-limit: { action: { requests: 3, perSeconds: 600, by: route } }
      - held: { action: { says: ${says} } }
`,
    );
}

/** A plugin whose policy responds with its parameter, immediately or after a request for `/held?go`. */
const plugin = `
import { declarePolicy, definePolicy } from ${JSON.stringify(join(rootDir, 'gateway/plugin-api/plugin-api.ts'))};
export const version = '1.0.0';
const held = declarePolicy({ name: 'held', schema: { type: 'object', properties: { says: { type: 'string' }, waits: { type: 'boolean' } } } });
export const policies = [held];
export function init({ services, registerPolicy }) {
  const waiting = services.share('held', [], () => new Set());
  registerPolicy(definePolicy(held, { create: ({ says, waits }) => (request, response) => {
    const answer = () => response.end(says);
    if (!waits) return answer();
    if (request.url.endsWith('?now')) return answer();
    if (!request.url.endsWith('?go')) return void waiting.add(answer);
    for (const each of waiting) each();
    waiting.clear();
    response.end('gone');
  } }));
}
`;

/** Starts the router. @param env additional configuration */
export async function startReloadableRouter(env: Record<string, string> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-reload-'));
  const provider = await startProviderStandIn();
  provider.publish(createKey());
  const write = (file: string, text: string) =>
    writeFileSync(join(dir, file), text.replace('PLUGIN', join(dir, 'plugin.ts')));
  write('plugin.ts', plugin);
  write('package.json', '{"type":"module"}');
  write('map.yml', mapWith());
  write('router.properties', `oauth.issuer=${provider.issuer}\n`);
  const program = await startProgram('gateway/main.ts', {
    CONDUCTOR_URL: 'http://127.0.0.1:9',
    ROUTER_PORT: '0',
    OPS_PORT: '0',
    RECONCILER_INTERVALMS: '0',
    ROUTER_GATEWAYCONFIGFILE: join(dir, 'map.yml'),
    CONFIG_URL: pathToFileURL(join(dir, 'router.properties')).href,
    ...env,
  });
  const operationsUrl = String(program.ready['operationsUrl']);
  const counts = () => readCounts(operationsUrl);
  return {
    ...{ url: String(program.ready['url']), dir, program, issuer: provider.issuer },
    /** Writes a file in the router's directory, such as `map.yml` or `router.properties`. */
    write,
    /** Returns every counter and gauge of the router. */
    counts,
    /** Sends SIGHUP and returns the result. */
    reload: () => reload(program),
    /** Returns the notice `configuration` of `/health/ready`. */
    async notice() {
      const response = await fetch(`${operationsUrl}/health/ready`);
      const { notices } = (await response.json()) as { notices: Record<string, string[]> };
      return (notices['configuration'] ?? []).join('\n');
    },
    async stop() {
      await program.stop();
      await provider.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

export type ReloadableRouter = Awaited<ReturnType<typeof startReloadableRouter>>;

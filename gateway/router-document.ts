// From the checked map and its policies to the OpenAPI document.

import { readFileSync } from 'node:fs';
import { buildDocument, type DescribedEndpoint } from '../contract/build-document.ts';
import type { OpenApiDocument } from '../contract/openapi.ts';
import type { Policy } from './contract.ts';
import { describedEndpoint } from './described-endpoint.ts';
import type { GatewayConfig, PipelineStep } from './gateway-config-schema.ts';

/** The document, built when it is first asked for, and once. */
export class RouterDocument {
  #parts: Parameters<typeof describeEndpoints> | undefined;
  #built: OpenApiDocument | undefined;

  /** Called once every plugin is initialised. */
  describe(...parts: Parameters<typeof describeEndpoints>): void {
    this.#parts = parts;
  }

  /** @throws Error when it is too early, or something cannot be described */
  read(): OpenApiDocument {
    if (this.#parts === undefined) throw new Error('the document is there once all plugins are initialised');
    return (this.#built ??= buildDocument(describeEndpoints(...this.#parts), versionOfProduct()));
  }
}

function describeEndpoints(
  { apiEndpoints, pipelines }: GatewayConfig,
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
  policies: ReadonlyMap<string, Policy>,
): DescribedEndpoint[] {
  return Object.entries(apiEndpoints).map(([name, endpoint]) => {
    const [pipeline = ''] =
      Object.entries(pipelines).find(([, { apiEndpoints: served }]) => served.includes(name)) ?? [];
    return {
      ...describedEndpoint(name, endpoint),
      summary: endpoint.summary,
      policies: (steps.get(pipeline) ?? []).map(
        ({ policy, action }) => policies.get(policy)?.describe?.(action as never) ?? {},
      ),
    };
  });
}

function versionOfProduct(): string {
  const packageFile = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
}

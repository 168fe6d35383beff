// Builds the OpenAPI document from the validated gateway configuration and its policies.

import { productVersion } from '#lib/config/folders.ts';
import { buildInSteps, type DescribedEndpoint } from '#lib/openapi/build-document.ts';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import { describedEndpoint } from './described-endpoint.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import { createPauses } from '#lib/process/pauses.ts';
import type { PolicyDeclaration, PolicyContext } from '../plugin-api/policy.ts';

/**
 * Builds the OpenAPI document. Yields to the event loop between steps.
 * @throws Error when two descriptions contradict each other
 */
export async function describeGateway(
  routes: readonly GatewayRoute[],
  declarations: ReadonlyMap<string, PolicyDeclaration>,
  placeOf: (route: GatewayRoute) => PolicyContext,
): Promise<OpenApiDocument> {
  const endpoints = routes.map((route): DescribedEndpoint => {
    const place = placeOf(route);
    return {
      ...describedEndpoint(route),
      summary: route.endpoint.summary,
      policies: route.steps.map(
        ({ policy, action }) => declarations.get(policy)?.describe?.(action as never, place) ?? {},
      ),
    };
  });
  const steps = buildInSteps(endpoints, productVersion());
  const pause = createPauses();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

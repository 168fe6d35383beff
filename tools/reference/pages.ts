// Lists the pages with generated parts, and the function that generates each part.

import { requestFields, responseFields } from '#lib/envelope/headers.ts';
import { createProgram } from '../../cli/program.ts';
import { formatCommands } from './cli.ts';
import { formatConfiguration } from './configuration.ts';
import { formatEngineApi } from './engine-api.ts';
import { formatOAuthErrors, formatProblems } from './errors.ts';
import { code } from './markdown.ts';
import { formatMetrics } from './metrics.ts';
import { formatPolicies } from './policies.ts';

/** A page with generated parts. */
export interface GeneratedPage {
  /** Path below the root. */
  readonly file: string;
  /** Returns the text of each part by its name. */
  readonly parts: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

/** Every page with generated parts. */
export const generatedPages: readonly GeneratedPage[] = [
  { file: 'docs/reference/cli.md', parts: () => ({ commands: formatCommands(createProgram()) }) },
  {
    file: 'docs/reference/envelope.md',
    parts: () => ({
      'request headers': requestFields.map(code).join(', '),
      'response headers': responseFields.map(code).join(', '),
    }),
  },
  {
    file: 'docs/reference/errors.md',
    parts: () => ({ problems: formatProblems(), 'OAuth errors': formatOAuthErrors() }),
  },
  { file: 'docs/reference/configuration.md', parts: formatConfiguration },
  { file: 'docs/reference/engine-api.md', parts: formatEngineApi },
  { file: 'docs/reference/metrics.md', parts: formatMetrics },
  { file: 'docs/reference/policies.md', parts: async () => ({ policies: await formatPolicies() }) },
];

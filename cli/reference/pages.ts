// Which pages hold what the CLI says of itself.

import type { Command } from 'commander';
import { formatOverview, formatReference } from './format-reference.ts';

/** Pages below the root, each with what stands in its generated part. */
export const pages: readonly { readonly file: string; readonly format: (program: Command) => string }[] = [
  { file: 'README.md', format: formatOverview },
  { file: 'docs/cli.md', format: formatReference },
];

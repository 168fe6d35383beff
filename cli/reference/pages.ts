// The pages with generated CLI help.

import type { Command } from 'commander';
import { formatOverview, formatReference } from './format-reference.ts';

/** Pages relative to the root, each with the formatter of its generated part. */
export const pages: readonly { readonly file: string; readonly format: (program: Command) => string }[] = [
  { file: 'README.md', format: formatOverview },
  { file: 'docs/cli.md', format: formatReference },
];

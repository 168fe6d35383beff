// Serves the files that the pages load: their own scripts and style sheet, and those of uPlot.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OperationsRoutes } from '../operations-server.ts';
import { send } from './page.ts';

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' };

/** Reads the files and returns their handlers by path. No other file is served. */
export function createAssetRoutes(): OperationsRoutes {
  const own = ['style.css', 'live.js', 'charts.js'].map((name) =>
    fileURLToPath(new URL(`assets/${name}`, import.meta.url)),
  );
  const uPlot = join(createRequire(import.meta.url).resolve('uplot/package.json'), '..', 'dist');
  const files = [...own, join(uPlot, 'uPlot.iife.min.js'), join(uPlot, 'uPlot.min.css')];
  return Object.fromEntries(
    files.map((file) => {
      const name = file.slice(file.lastIndexOf('/') + 1);
      const type = types[name.slice(name.lastIndexOf('.') + 1)] as string;
      const body = readFileSync(file);
      const serve: OperationsRoutes[string] = async (response) => send(response, body, { type });
      return [`/assets/${name}`, serve];
    }),
  );
}

// A real browser for the tests of pages: Chromium where it is installed, driven by playwright-core.

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
];

/** Where it is; undefined when it is not installed. `CHROMIUM` names another place. */
export const chromiumPath: string | undefined = [process.env['CHROMIUM'] ?? '', ...places].find(
  (path) => path !== '' && existsSync(path),
);

if (chromiumPath === undefined)
  process.stderr.write(
    'skipped: tests in a browser. Install Chromium (apt-get install chromium) or set CHROMIUM to run them\n',
  );

/** Starts it; it reaches nothing but this machine. @throws Error when there is none */
export function startBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('there is no Chromium');
  // As root there is no sandbox; the pages are ours.
  const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
  return chromium.launch({ executablePath: chromiumPath, args });
}

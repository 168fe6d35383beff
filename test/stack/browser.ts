// A real browser for tests of pages: the installed Chromium, driven by playwright-core.

import type { Browser } from 'playwright-core';
import { pathOf } from '../run/requirements.ts';

/** Starts the browser, which can reach only this machine. @throws Error when Chromium is not installed */
export async function startBrowser(): Promise<Browser> {
  const executablePath = pathOf('chromium');
  if (executablePath === undefined) throw new Error('there is no Chromium');
  const { chromium } = await import('playwright-core');
  // The sandbox does not work as root, and all pages are trusted.
  const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
  return chromium.launch({ executablePath, args });
}

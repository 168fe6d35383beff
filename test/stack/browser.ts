// A real browser for the tests of pages: Chromium where it is installed, driven by playwright-core.

import type { Browser } from 'playwright-core';
import { pathOf } from '../run/requirements.ts';

/** Starts it; it reaches nothing but this machine. @throws Error when there is none */
export async function startBrowser(): Promise<Browser> {
  const executablePath = pathOf('chromium');
  if (executablePath === undefined) throw new Error('there is no Chromium');
  const { chromium } = await import('playwright-core');
  // As root there is no sandbox; the pages are ours.
  const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
  return chromium.launch({ executablePath, args });
}

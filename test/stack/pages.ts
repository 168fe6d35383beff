// Opens pages in a real browser, collects errors and warnings, measures pages, and takes screenshots on request.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Opens an address in a new browser context. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  return {
    page,
    /** Console errors and warnings, exceptions, and violations of the content security policy. */
    complaints,
    /** Addresses that the page requested. */
    requests,
    close: () => context.close(),
  };
}

/** An open page. */
export type OpenPage = Awaited<ReturnType<typeof openPage>>;

/** Stores a screenshot of the whole page in SCREENSHOTS_DIR; does nothing when this variable is not set. */
export async function shoot(page: Page, name: string): Promise<void> {
  const directory = process.env['SCREENSHOTS_DIR'];
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.png`), await page.screenshot({ fullPage: true }));
}

/** Returns by how many pixels the content is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - window.innerWidth') as Promise<number>;
}

/**
 * Returns the texts of a page whose contrast is below the WCAG 2 minimum (4.5 to 1), with their contrast. Texts in
 * drawings are compared with the background of the page.
 */
export function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const parse = (colour) => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const luminance = ([r, g, b]) => {
      const [red, green, blue] = [r, g, b].map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const backgroundOf = (element) => {
      for (let at = element; at !== null; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour[3] === undefined || colour[3] > 0) return colour;
      }
      return [255, 255, 255];
    };
    return [...document.querySelectorAll('body *')].flatMap((element) => {
      const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.nodeValue).join('').trim();
      if (text === '' || element.closest('noscript, title') || element.getClientRects().length === 0) return [];
      if (element.matches('.sign')) return [];
      const style = getComputedStyle(element);
      const colour = parse(element instanceof SVGElement ? style.fill : style.color);
      const [dark, light] = [luminance(colour), luminance(backgroundOf(element))].sort((a, b) => a - b);
      const contrast = (light + 0.05) / (dark + 0.05);
      return contrast < 4.5 ? [element.className?.baseVal ?? element.className + ': ' + text.slice(0, 30) + ' ' + contrast.toFixed(2)] : [];
    });
  })()`) as Promise<string[]>;
}

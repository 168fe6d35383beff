// Locates the two folders of a program: the product's code, and the gateway whose files the program reads.

import { existsSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { extname, join, relative, resolve } from 'node:path';

/** Absolute path of the product's code: a checkout, or `dist/` of the installed package. */
export const productDir = resolve(import.meta.dirname, '../..');

/**
 * Extension of the product's modules: `.ts` in a checkout, `.js` in the package, because Node does not run TypeScript
 * below node_modules.
 */
export const moduleExtension = extname(import.meta.filename);

/**
 * Returns the folder of the gateway: the working directory, or the checkout when the working directory has no
 * `gateway.config.yml`. All files of a gateway are read relative to this folder.
 */
export function gatewayDir(): string {
  const holdsGateway = (dir: string) => existsSync(join(dir, 'gateway.config.yml'));
  return holdsGateway(process.cwd()) || !holdsGateway(productDir) ? process.cwd() : productDir;
}

/** Returns the path of a documentation page, relative to the working directory. @param page e.g. `how-to/upgrade.md` */
export function pathOfPage(page: string): string {
  const folder = [join(productDir, 'docs'), join(productDir, '../docs')].find(existsSync) ?? 'docs';
  return relative(process.cwd(), join(folder, page));
}

/** Returns the version in the product's package.json. */
export function productVersion(): string {
  const file = findPackageJSON(import.meta.url) as string;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

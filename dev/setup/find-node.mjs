// Finds the Node to run the product: the pinned one in node_modules, else the current one if it is new enough.

import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Oldest major version that runs TypeScript directly and has the APIs in use. */
const minMajor = 24;

/** Whether the Node that runs this process can run the product. */
export const isNodeNewEnough = Number(process.versions.node.split('.')[0]) >= minMajor;

/** The loader of glibc, which the pinned Node needs on Linux; Alpine has none. */
const loaders = new Map([
  ['x64', '/lib64/ld-linux-x86-64.so.2'],
  ['arm64', '/lib/ld-linux-aarch64.so.1'],
]);

/**
 * @param {string} root folder of the product's code: npm installs the pinned Node there or in a folder above
 * @returns {string} path of a Node of version 24 or newer
 * @throws Error with a readable message when there is none
 */
export function findNode(root) {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    const pinned = join(createRequire(join(root, 'x')).resolve(`${name}/package.json`), '../bin/node');
    accessSync(pinned, constants.X_OK);
    const loader = process.platform === 'linux' ? loaders.get(process.arch) : undefined;
    if (loader !== undefined) accessSync(loader);
    return pinned;
  } catch {
    if (isNodeNewEnough) return process.execPath;
    throw new Error(
      `This project runs on Node ${minMajor}. Its own copy of Node does not run on ${process.platform} ${process.arch} ` +
        `(the package ${name} is not installed, or glibc is missing), and this is Node ${process.versions.node}: install Node ${minMajor} and start again.`,
    );
  }
}

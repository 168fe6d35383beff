// Finds the Node to run the product: the pinned one in node_modules, else the current one if it is new enough.

import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Oldest major version that runs TypeScript directly and has the APIs in use. */
const minMajor = 24;

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
    return pinned;
  } catch {
    if (Number(process.versions.node.split('.')[0]) >= minMajor) return process.execPath;
    throw new Error(
      `This project runs on Node ${minMajor}. No package of it is pinned for ${process.platform} ${process.arch} ` +
        `(${name} is not installed), and this is Node ${process.versions.node}: install Node ${minMajor} and start again.`,
    );
  }
}

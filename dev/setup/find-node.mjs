// Finds the Node that runs our TypeScript: the pinned one among the dependencies, else the one that runs this, when it is new enough.

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** First major version that runs TypeScript as it is and has everything else we use. */
const minMajor = 24;

/**
 * @param {string} root folder of package.json
 * @returns {string} path of a Node of version 24 or newer
 * @throws Error for people, when there is none
 */
export function findNode(root) {
  const name = `node-${process.platform}-${process.arch}`;
  const pinned = join(root, 'node_modules', name, 'bin', 'node');
  try {
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

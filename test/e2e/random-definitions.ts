// Copies the product's definitions under unique names, so that one engine can have many copies.

import { randomBytes } from 'node:crypto';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';

export function randomDefinitions() {
  const copy = copyOfProduct();
  const suffix = randomBytes(4).toString('hex');
  const rename = (directory: string, name: string, version = '') => {
    const file = `${directory}/${name}${suffix}${version}.json`;
    copy.rename(`${directory}/${name}${version}.json`, file);
    return file;
  };
  const workflow = rename('workflows', 'moviesWF', '.v1');
  copy.replace(workflow, '"moviesWF"', `"moviesWF${suffix}"`);
  copy.replace(workflow, 'movies_intake', `movies_intake${suffix}`);
  copy.replace(rename('workflows/tasks', 'movies_intake'), '"movies_intake"', `"movies_intake${suffix}"`);
  for (const [name, version] of [
    ['lms-dwWF', 1],
    ['mdmWF', 1],
    ['mdm-shareWF', 1],
    ['college-adaptorWF', 1],
    ['college-adaptorWF', 2],
  ] as const) {
    const file = rename('workflows', name, `.v${version}`);
    copy.replace(file, `"${name}"`, `"${name}${suffix}"`);
  }
  const mdm = rename('event-handlers', 'mdm');
  copy.replace(mdm, '"name": "mdm"', `"name": "mdm${suffix}"`);
  copy.replace(mdm, 'college-adaptorWF', `college-adaptorWF${suffix}`);
  copy.replace(mdm, '"mdmWF"', `"mdmWF${suffix}"`);
  const share = `event-handlers/mdm-share${suffix}-{mis}.json`;
  copy.rename('event-handlers/mdm-share-{mis}.json', share);
  copy.replace(share, '"mdm-share-', `"mdm-share${suffix}-`);
  copy.replace(share, 'conductor:mdmWF', `conductor:mdmWF${suffix}`);
  copy.replace(share, '"mdm-shareWF"', `"mdm-shareWF${suffix}"`);
  return { ...copy, suffix };
}

/** A copy of the definitions with unique names. */
export type RandomDefinitions = ReturnType<typeof randomDefinitions>;

// `npm pack` runs this first: it compiles the product into dist/, and prepares what is bundled with it.

import { resolve } from 'node:path';
import { compilePackage } from './compile.ts';
import { pinBundle } from './pin-bundle.ts';

const root = resolve(import.meta.dirname, '../..');
compilePackage(root);
pinBundle(root);

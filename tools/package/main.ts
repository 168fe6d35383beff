// Entry point of the `prepack` script of npm: compiles the product into dist/ and prepares the bundled packages.

import { resolve } from 'node:path';
import { compilePackage } from './compile.ts';
import { pinBundle } from './pin-bundle.ts';

const root = resolve(import.meta.dirname, '../..');
compilePackage(root);
pinBundle(root);

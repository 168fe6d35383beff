// Writes V8's coverage at the end of each test file, because vitest ends its processes without giving them a chance to
// write it.

import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());

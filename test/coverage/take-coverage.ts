// Writes V8's coverage at the end of each test file: vitest ends its processes without a chance to do so.

import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());

// What every file of the suite ends with: files share a process, and one that failed may have left programs running.

import { afterAll } from 'vitest';
import { killLeftovers } from '../stack/idle-stack.ts';

afterAll(killLeftovers);

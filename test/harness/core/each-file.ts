import { afterAll } from 'vitest';
import { endFile } from './clean-up.ts';

// A setup file of vitest, evaluated once for each test file, though files share a process: so the hook is the file's own and outermost.
afterAll(endFile);

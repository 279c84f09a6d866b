import { afterAll, beforeAll } from 'vitest';
import { endFile } from './clean-up.ts';
import { rememberSuite } from './not-tested.ts';

// A setup file of vitest, evaluated once for each test file, though files share a process: so the hooks are the file's
// own and outermost.
// oxlint-disable-next-line no-empty-pattern -- vitest reads from it which fixtures a hook needs
beforeAll(({}, suite) => rememberSuite(suite));
afterAll(endFile);

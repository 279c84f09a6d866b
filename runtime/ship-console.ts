import { shipConsole } from './console-build.ts';

/** Builds the console into `web/built`: `npm run console`. */
process.stdout.write(`console: built into ${await shipConsole()}\n`);

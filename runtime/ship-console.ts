import { shipConsole } from './console-build.ts';

/** Builds the console into `web/built`: `npm run console`. */
console.log(`console: built into ${await shipConsole()}`);

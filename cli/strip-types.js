// Node runs no TypeScript below a folder node_modules, where npm puts an installed package. So there the package takes
// the types off its own files: the command has no build step anywhere.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const own = new URL('..', import.meta.url).href;
if (own.includes('/node_modules/')) {
  registerHooks({
    load(url, context, nextLoad) {
      const isOwn = url.startsWith(own) && url.endsWith('.ts') && !url.slice(own.length).startsWith('node_modules/');
      if (!isOwn) return nextLoad(url, context);
      return {
        format: 'module',
        source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8')),
        shortCircuit: true,
      };
    },
  });
}

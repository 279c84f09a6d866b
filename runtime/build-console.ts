import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';

/** `OUT`: builds the console into the folder OUT, all or nothing, each file also as .br and .gz. */
const [, , out = ''] = process.argv;
const unfinished = `${out}.${process.pid}`;
/** Smaller files gain nothing. */
const LEAST_BYTES = 1_024;

try {
  await build({
    configFile: false,
    root: fileURLToPath(new URL('../web/', import.meta.url)),
    base: '/console/',
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic' } },
    build: {
      outDir: unfinished,
      emptyOutDir: true,
      target: 'es2023',
      cssTarget: 'chrome123',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_000,
      // A page comes in two files, not in ten small ones.
      rolldownOptions: {
        output: { codeSplitting: { groups: [{ name: 'parts', test: /\/web\/(parts|session)\//, minShareCount: 2 }] } },
      },
    },
  });
  for (const name of await readdir(join(unfinished, 'assets'))) await compress(join(unfinished, 'assets', name));
  await rename(unfinished, out).catch(async (error: NodeJS.ErrnoException) => {
    // Another process has built the same.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
} finally {
  await rm(unfinished, { recursive: true, force: true });
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  if (bytes.length < LEAST_BYTES) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }));
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
}

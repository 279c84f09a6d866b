import { connector } from '../core/contract.ts';
import { fieldsOf } from '../files/file-fields.ts';
import { readFile } from '../files/read-file.ts';
import { httpFileSettings } from './http-file-settings.ts';
import { openByHttp } from './open-by-http.ts';

/** A file of CSV or JSON Lines at an HTTP or HTTPS address. */
export const httpFile = connector({
  name: 'http-file',
  title: 'File over HTTP (CSV, JSON Lines)',
  settings: httpFileSettings,
  source: {
    async check(given, context) {
      await fieldsOf(given, await openByHttp(given, context));
    },
    async discover(given, context) {
      const fields = await fieldsOf(given, await openByHttp(given, context));
      return [{ name: streamName(given.url), fields, key: [], incremental: 'own' }];
    },
    read: (given, reading, context) => readFile(given, (part) => openByHttp(given, context, part), reading),
  },
});

/** The last part of the path, or the host where there is none. */
function streamName(text: string): string {
  const { pathname, hostname } = new URL(text);
  const name = pathname.split('/').findLast((part) => part !== '') ?? hostname;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

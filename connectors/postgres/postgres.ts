import { connector } from '../core/contract.ts';
import { inSession } from './postgres-session.ts';
import { PostgresSettings } from './postgres-settings.ts';
import { checkSchema, listStreams, listTables, toStream } from './postgres-stream.ts';
import { readPostgres } from './read-postgres.ts';
import { writePostgres } from './write-postgres.ts';

export const postgres = connector({
  name: 'postgres',
  title: 'PostgreSQL',
  settings: PostgresSettings,
  source: {
    check: (settings, context) =>
      inSession(settings, context, 'read', async (session) => {
        await checkSchema(session);
        await listStreams(session);
      }),
    discover: (settings, context) =>
      inSession(settings, context, 'read', async (session) => (await listStreams(session)).map(toStream)),
    read: readPostgres,
  },
  destination: {
    check: (settings, context) => inSession(settings, context, 'write', checkSchema),
    discover: (settings, context) =>
      inSession(settings, context, 'write', async (session) =>
        (await listTables(session)).filter(({ isWritable }) => isWritable).map(toStream),
      ),
    write: writePostgres,
  },
});

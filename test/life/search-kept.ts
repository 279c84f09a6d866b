import { join } from 'node:path';
import type { Database } from '../../store/core/database.ts';
import { folderFiles } from '../../connectors/file-store/folder-files.ts';
import { openSecrets } from '../../store/core/secrets.ts';
import { marksInBytes, marksOf, storedByTemporal } from '../harness/jobs/history-search.ts';
import { type Finding, searchEverywhere, type Sought } from '../harness/jobs/whole-search.ts';
import type { LifeService } from './service.ts';

/** Searches all that a service keeps: its database, files, outbox, scratch, logs, and what Temporal stores. */
export async function searchKept(service: LifeService, db: Database, sought: Sought): Promise<Finding[]> {
  const folder = (name: string) => join(service.dataDir, name);
  const files = folderFiles(folder('files'));
  const secrets = await openSecrets(db, files, service.secretKey);
  const kept = await searchEverywhere(
    {
      db,
      secrets,
      files,
      folders: {
        scratch: folder('scratch'),
        outbox: folder('outbox'),
        logs: { folder: service.dataDir, only: /\.log$/ },
      },
    },
    sought,
  );
  return [...kept, ...searchTemporal(service.temporalFile, sought)];
}

function searchTemporal(path: string, sought: Sought): Finding[] {
  const marks = marksOf(Object.values(sought));
  const searched = new Set<string>();
  const found = new Map<string, Finding>();
  for (const { table, column, bytes } of storedByTemporal(path)) {
    for (const mark of marksInBytes(bytes, marks, searched)) {
      const where = `Temporal: ${table}.${column}`;
      found.set(`${where} ${mark}`, { where, what: 'a person', through: [] });
    }
  }
  return [...found.values()];
}

import { countNotedFiles } from '../../core/file-deletions.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { TextMatches } from '../../gdpr/personal-data/text-matches.ts';
import { deletePinnedFilesOf, listPinnedLinesOf } from '../pinned-files.ts';

export const pinnedFiles: PersonalDataLocation = {
  name: 'imports/',
  columns: [],
  otherColumns: [],
  holds: 'the files as they were imported',
  foundBy: 'the lines that contain the id',
  erasedBy: 'deleting the whole file, once its import has ended; one that no import names, five minutes after it came',
  async count(deps, entityId, people) {
    const files = new Set<string>();
    for await (const { fileKey } of listPinnedLinesOf(deps, entityId, people)) files.add(fileKey);
    return files.size + (await countNotedFiles(deps.db, entityId, 'imports/'));
  },
  async *export(deps, entityId, people) {
    const matches = new TextMatches();
    for await (const { fileKey, line, isOwn } of listPinnedLinesOf(deps, entityId, people)) {
      if (line === '') continue;
      if (isOwn) yield { file: fileKey, line };
      else matches.add(fileKey);
    }
    yield* matches.records();
  },
  // A pinned file is only kept to show what an import read: the whole file goes once the import has ended.
  erase: deletePinnedFilesOf,
};

/** Builder of locations that are areas of the file store, whose files are searched for people. */
import { countNotedFiles, deleteNotedFiles } from '../core/file-deletions.ts';
import type { DescribedLocation, ErasingLocation, KnownBy, LocationDependencies } from './personal-data-location.ts';
import { TextMatches } from './texts-of-people.ts';

type FilesOfPeople<Match extends { fileKey: string }> = Omit<DescribedLocation, 'columns' | 'otherColumns'> & {
  /** Yields what names these people, or may, once or more often for a file. */
  list(deps: LocationDependencies, entityId: number, people: KnownBy[]): AsyncIterable<Match>;
  /** Returns a record of the person's own, or what a match lies within, for an archive; null shows nothing. */
  shown(match: Match): { own: Record<string, unknown> } | { within: string | null } | null;
  erase: ErasingLocation['erase'];
};

/** Makes a location of files. A file whose deletion was noted counts until it is gone; erasure first deletes those. */
export function filesOfPeople<Match extends { fileKey: string }>({
  list,
  shown,
  erase,
  ...described
}: FilesOfPeople<Match>): ErasingLocation {
  const { name } = described;
  return {
    ...described,
    columns: [],
    otherColumns: [],
    async count(deps, entityId, people) {
      const files = new Set<string>();
      for await (const { fileKey } of list(deps, entityId, people)) files.add(fileKey);
      return files.size + (await countNotedFiles(deps.db, entityId, name));
    },
    async *export(deps, entityId, people) {
      const matches = new TextMatches();
      for await (const match of list(deps, entityId, people)) {
        const found = shown(match);
        if (found === null) continue;
        if ('own' in found) yield found.own;
        else matches.add(found.within);
      }
      yield* matches.records();
    },
    async erase(deps, entityId, people) {
      // An erasure noted these before its process was killed.
      await deleteNotedFiles(deps, entityId, name);
      return erase(deps, entityId, people);
    },
  };
}

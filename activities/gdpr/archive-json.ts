import type { ArchiveHead, PageSection } from '../../domain/gdpr/archive-page.ts';
import { archiveRecord, otherUserIn, type ShownWith } from '../../domain/gdpr/archive-record.ts';
import { locationWords } from '../../domain/gdpr/personal-data-words.ts';
import type { ArchiveTables } from './archive-tables.ts';

/** A location and what it tells of the person, record by record. */
export type ExportedLocation = { name: string; records: AsyncIterable<Record<string, unknown>> };

/** Maximum number of records that the page shows of a location, and of characters of their JSON. */
const SHOWN_RECORDS = 1_000;
const SHOWN_CHARS = 512 * 1024;

/** Characters of a piece that is written at once. */
const PIECE = 64 * 1024;

/**
 * `data.json`: one JSON object, written as the records come; `data` has an array for each location. Once all of it was
 * taken, `sections` has what the page shows of each location, and how many there are, `tables` has all of it, and
 * `others` the other users it names.
 */
export async function* archiveJson(
  head: ArchiveHead,
  locations: Iterable<ExportedLocation>,
  shownWith: ShownWith,
  { sections, tables, others }: { sections: PageSection[]; tables: ArchiveTables; others: Set<string> },
): AsyncGenerator<string> {
  let piece = `${opening(head)},"data":{`;
  for (const { name, records } of locations) {
    const section: PageSection = { location: name, records: [], total: 0 };
    piece += `${sections.length === 0 ? '' : ','}\n${JSON.stringify(name)}:[`;
    sections.push(section);
    let room = SHOWN_CHARS;
    for await (const record of records) {
      const shown = archiveRecord(locationWords(name), record, shownWith);
      const json = JSON.stringify(shown);
      const other = otherUserIn(shown, shownWith);
      if (other !== null) others.add(other);
      await tables.add(name, shown);
      piece += `${section.total === 0 ? '' : ','}\n${json}`;
      section.total += 1;
      room -= json.length;
      if (room >= 0 && section.total <= SHOWN_RECORDS) section.records.push(shown);
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
    }
    piece += ']';
  }
  yield `${piece}},"counts":${JSON.stringify(countsOf(sections))}}\n`;
}

/** How many records each location has. */
export function countsOf(sections: PageSection[]): Record<string, number> {
  return Object.fromEntries(sections.map(({ location, total }) => [location, total]));
}

/** All of the object's members that come before the data, without the end. */
function opening({ request, person, company, madeAt, ids, fileRecipients }: ArchiveHead): string {
  const known = ids.map(({ kind, id }) => ({ kind, id }));
  return JSON.stringify({
    version: 1,
    request,
    person,
    made_at: madeAt,
    company,
    known_by: known,
    file_recipients: fileRecipients,
  }).slice(0, -1);
}

/** Applies a sync's mapping to records, and finds fields that are new or not mapped. */
import { shorten } from '../../domain/text/text-limits.ts';
import { type MappedRecord, prepareMapping, type SourceRecord, targetsOf } from '../../domain/syncs/record-mapping.ts';
import { toldFields } from '../../domain/syncs/schema-change.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';

const MAX_NAMES = 100;

/**
 * Maps a sync's records. Of fields that the mapping does not name it drops, and lists, new ones that the sync ignores
 * and those that the destination lacks.
 */
export class RecordMapper {
  readonly #map: (record: SourceRecord) => MappedRecord;
  readonly #named: ReadonlySet<string>;
  readonly #known: Set<string> | null;
  readonly #stopsAtNews: boolean;
  /** Names of new fields. */
  readonly news = new Set<string>();
  /** Names of fields that the destination lacks. */
  readonly unmapped: Set<string>;

  constructor({ mapping, destination, schemaRule, knownFields, readFields }: Sync, unmapped: readonly string[]) {
    this.#map = prepareMapping(mapping, { keepsCustomer: 'connectionId' in destination });
    this.#named = new Set(targetsOf(mapping));
    this.#known =
      schemaRule === 'follow' || knownFields === null
        ? null
        : new Set(toldFields(knownFields, readFields ?? []).map(({ name }) => name));
    this.#stopsAtNews = schemaRule === 'stop';
    this.unmapped = new Set(unmapped);
  }

  /** True if the last mapped batch must not be written: it has new fields, and the sync's rule is `stop`. */
  get isToStop(): boolean {
    return this.#stopsAtNews && this.news.size > 0;
  }

  /** Adds fields that count as known. */
  learn(fields: readonly { name: string }[]): void {
    for (const { name } of fields) this.#known?.add(shorten(name));
  }

  /** Maps a record; `hasField` returns whether the destination takes a field. */
  map(record: SourceRecord, hasField: (field: string) => boolean): MappedRecord {
    const mapped = this.#map(record);
    const values = mapped.values.filter(([to]) => this.#named.has(to) || this.#isTaken(to, hasField));
    return { ...mapped, values };
  }

  #isTaken(field: string, hasField: (field: string) => boolean): boolean {
    const shown = shorten(field);
    if (this.#known !== null && !this.#known.has(shown)) {
      if (this.news.size < MAX_NAMES) this.news.add(shown);
      return false;
    }
    if (hasField(field)) return true;
    if (this.unmapped.size < MAX_NAMES) this.unmapped.add(shown);
    return false;
  }
}

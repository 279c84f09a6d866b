/**
 * The contract of connectors: a value that says how an outside system is reached, read and written. The server uses its
 * settings, `check` and `discover`; the flow `runSync` reads and writes. `docs/making-a-connector.md` shows how to make
 * one; every one passes the suite in `test/connectors/core/contract.ts`.
 */
import { z } from 'zod';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Commands } from '../commands/commands-file.ts';
import type { PushServices } from '../web-push/push-services.ts';
import type { FetchAllow } from './fetch-allow.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/**
 * A record by its fields' names. A number that a double would round is a text, a time is ISO 8601, bytes are base64.
 */
export type SourceRecord = { [field: string]: Json };

export type Field = {
  name: string;
  type: FieldType;
  nullable: boolean;
  /** `never`: records may not set this field of a destination; `as_key`: only as part of the key. Default: always. */
  takes_values?: 'never' | 'as_key';
};

/** A part of a source that can be read: a table, a file, a kind of object. */
export type Stream = {
  name: string;
  fields: Field[];
  /** Fields that together identify a record; empty if unknown. */
  key: string[];
  /** The keys by which a destination finds records, each of one or more fields; without it, by any. */
  keys?: string[][];
  /** Ways to read only new or changed records: by a field, or by the source's `own` state. */
  incremental: { fields: string[] } | 'own';
};

/** Position where reading continues: JSON that only its connector understands. Never a secret. */
export type Cursor = Json;

export type Reading = {
  stream: string;
  mode: 'full' | 'incremental';
  /** One of the stream's fields for `incremental`; null if the source keeps its own state. */
  cursorField: string | null;
  /**
   * Null: from the beginning. In a full reading it comes from a batch of the same, interrupted reading; in an
   * incremental one also from an earlier reading.
   */
  cursor: Cursor | null;
  /** True if the cursor comes from an earlier batch of this run: a reading that was at its end is not begun anew. */
  isContinued?: boolean;
  /**
   * The fields that the sync uses, without cursorField; null: all. A source that can leaves out the others, so that no
   * personal data comes that nothing asks for. What identifies a record to the source itself comes in any case.
   */
  fields: readonly string[] | null;
};

/**
 * A record, a malformed one (`raw` is what can be shown of it, at most 2 KiB), or a record that the source has deleted.
 * `key`: the source's own name for the record, the same in all its versions; a source that reports deletions gives it
 * with records, too. `customer`: the fields that are still known of a deleted record, which may name its customer.
 */
export type ReadItem =
  | { kind: 'record'; record: SourceRecord; key?: string }
  | { kind: 'malformed'; raw: string; message: string }
  | { kind: 'deleted'; key: string | null; customer?: SourceRecord };

/** At most BATCH_ITEMS and about BATCH_BYTES. After one without items, a run stores the cursor before it reads on. */
export type Batch = {
  items: ReadItem[];
  /** Size as received from the source. */
  bytes: number;
  /** Reading from here returns everything after this batch, and perhaps some items again. */
  cursor: Cursor | null;
  /** Progress of this reading after this batch, from 0 to 1, if the source knows or estimates it. */
  done?: number;
  /** The fields from this batch on, if the source has changed them. */
  fields?: Field[];
  /** Number of items whose cursor value never moves the cursor (`odd-cursors.ts`). */
  oddCursors?: number;
};

export const BATCH_ITEMS = 5_000;
export const BATCH_BYTES = 4 * 1024 * 1024;

/** The ways out of the process that a connector may use; there is no other. */
export type WaysOut = {
  /** The one way out by HTTP. */
  fetch: GuardedFetch;
  /** Addresses other than public ones that any protocol may reach. */
  allow: FetchAllow;
  /** The operator's commands; no other may run. */
  commands: Commands;
  /** Browsers' push services that may be reached; undefined: the known ones. */
  pushServices?: PushServices;
};

export type ConnectorContext = WaysOut & {
  /** A folder in which a call makes and removes its own. */
  scratch: string;
  /** Aborted when the run is canceled, the process drains, or time is up. */
  signal: AbortSignal;
  /** Limit of each gzip file; MAX_DECOMPRESSED_BYTES unless tests set less. */
  maxDecompressedBytes?: number;
  /** Writes a line into the run's log; without secrets and content of records. */
  log(line: string): void;
};

/**
 * All functions refuse (`sourceRefusal`) with words that say what to do and quote no secret: `source_refused` and
 * `address_refused` if a retry would fail again; `source_unavailable` (with `retry_after` in seconds if the source gave
 * a time) and `transfer_broken` if it may succeed later.
 */
export type Source<Settings> = {
  /** True: an incremental reading may bring items of kind `deleted`. */
  reportsDeletions?: true;
  /** Reaches the source with these settings, as `read` will. */
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  /** Returns the streams; `only`: this one is needed, and if it is not there, the names of all. */
  discover(settings: Settings, context: ConnectorContext, only?: string): Promise<Stream[]>;
  /** Ends without an error only when everything was read. */
  read(settings: Settings, reading: Reading, context: ConnectorContext): AsyncIterable<Batch>;
  /**
   * Ends what the source keeps for a reading, such as a job, once its run has ended; `cursor` is the last one. May be
   * called twice.
   */
  release?(
    settings: Settings,
    reading: Pick<Reading, 'stream' | 'mode' | 'cursor'>,
    context: ConnectorContext,
  ): Promise<void>;
};

/**
 * The outcome of a written record. `later`: it may differ the next time. `field`: the field with the wrong value, if
 * known; the message then continues a sentence about the value (`is no integer`), and the caller quotes the value.
 */
export type WriteOutcome =
  | { kind: 'ok' }
  | { kind: 'unchanged' }
  | { kind: 'failed'; message: string; later: boolean; field?: string };

export type Destination<Settings> = {
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  /** Returns the streams it can be written to, with their fields; null if any are accepted. `only`: as of a source. */
  discover(settings: Settings, context: ConnectorContext, only?: string): Promise<Stream[] | null>;
  /**
   * Yields the outcomes of the next records, in order, as soon as they are known: those before an error are kept.
   * Writing the same records again has no further effect: they are identified by `key`, the values of the identifying
   * fields, or by `batchId`, the same for the same batch.
   */
  write(settings: Settings, writing: Writing, context: ConnectorContext): AsyncIterable<WriteOutcome[]>;
};

export type Writing = {
  stream: string;
  key: string[];
  batchId: string;
  records: SourceRecord[];
  /** Number of first records with an outcome from an earlier attempt; they are not written again. */
  answered: number;
  isRemoval: boolean;
  /**
   * Call it first with `answered`, and before the first `count` records may be sent. If a run is canceled, the records
   * after the last `count` were not sent; without a call, all of them may have arrived.
   */
  sending?(count: number): void;
};

/** An alert about a run that needs attention: identifiers, Millrace's own words and a link, no text from outside. */
export type Alert = {
  kind: 'sync' | 'exporter';
  /** The sync's or exporter's. */
  identifier: string;
  run: string;
  /** The reason: failed, paused, recovered, and others by kind. */
  alert: string;
  /** The status of the run's failure. */
  failure: string | null;
  /** The whole alert in one line, without the link. */
  text: string;
  link: string;
  ended_at: string;
};

/** A destination of alerts. Refuses as sources do. */
export type AlertChannel<Settings> = {
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  /** An alert may come twice, with the same `run` and `alert`. */
  send(settings: Settings, alert: Alert, context: ConnectorContext): Promise<void>;
};

/** The outcome of a message on a device, as the receiver gets it. */
export type OutcomeRecord = {
  /** The message's id, as the device reports it. */
  millrace_id: string;
  campaign_id: string;
  /** The request of POST /api/transac. */
  requestId: string | null;
  /** Null for an erased person. */
  user: string | null;
  device_id: string | null;
  code: string;
  details: string | null;
  channel: 'push' | 'inapp' | 'both';
  date: string;
};

/** A batch may come twice, with the same id. */
export type OutcomeBatch = { batchId: string; appId: string; outcomes: readonly OutcomeRecord[] };

/** A destination of messages' outcomes. Refuses as sources do. */
export type OutcomeChannel<Settings> = {
  /** Maximum number of outcomes in a batch. */
  batchSize(settings: Settings): number;
  send(settings: Settings, batch: OutcomeBatch, context: ConnectorContext): Promise<void>;
};

export type Connector<Settings = never> = {
  /** Name in the API and in the store: lower case letters, digits and dashes. */
  name: string;
  title: string;
  /** An object; its secret members are made by `secret`. */
  settings: z.ZodType<Settings>;
  source?: Source<Settings>;
  destination?: Destination<Settings>;
  alerts?: AlertChannel<Settings>;
  outcomes?: OutcomeChannel<Settings>;
};

/** A connector with any settings: its functions get settings that its own schema has parsed. */
export type AnyConnector = Connector<unknown>;

/** Marks a setting as secret: stored encrypted, and never shown. */
export function secret<S extends z.ZodType>(schema: S): S {
  return schema.meta({ secret: true });
}

/** Marks a setting that cannot expose a secret; a change of any other requires the secrets again. */
export function harmless<S extends z.ZodType>(schema: S): S {
  return schema.meta({ harmless: true });
}

export function secretMembers(settings: z.ZodType): string[] {
  return membersMarked(settings, 'secret');
}

export function harmlessMembers(settings: z.ZodType): string[] {
  return membersMarked(settings, 'harmless');
}

export function settingMembers(settings: z.ZodType): Record<string, z.ZodType> {
  return settings instanceof z.ZodObject ? (settings.shape as Record<string, z.ZodType>) : {};
}

function membersMarked(settings: z.ZodType, mark: 'secret' | 'harmless'): string[] {
  return Object.entries(settingMembers(settings))
    .filter(([, member]) => isMarked(member, mark))
    .map(([name]) => name);
}

/** Returns whether the mark is set, also under `.optional()` and `.default()`. */
function isMarked(member: z.ZodType, mark: 'secret' | 'harmless'): boolean {
  if (member.meta()?.[mark] === true) return true;
  if (member instanceof z.ZodOptional || member instanceof z.ZodDefault || member instanceof z.ZodNullable) {
    return isMarked(member.unwrap() as z.ZodType, mark);
  }
  return false;
}

/** Infers the settings' type from their schema. */
export function connector<S extends z.ZodObject>(
  value: Omit<Connector<z.output<S>>, 'settings'> & { settings: S },
): AnyConnector {
  return value as unknown as AnyConnector;
}

/** Returns a check for `superRefine` of a setting: `error` completes a sentence that begins with the setting's name. */
export function refineBy<T>(name: string, error: (value: T) => string | undefined) {
  return (value: T, context: z.RefinementCtx<T>): void => {
    const message = error(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message: `${name} ${message}` });
  };
}

/** Returns whether a destination's field takes no values from a record that `key` identifies. */
export const takesNoValues = ({ name, takes_values }: Field, key: readonly string[]): boolean =>
  takes_values === 'never' || (takes_values === 'as_key' && !key.includes(name));

export function sayTakesNone(stream: string, { name, takes_values }: Field): string {
  const why = takes_values === 'as_key' ? ' unless it is part of the key' : '';
  return `The field ${name} of ${stream} takes no values${why}, since the destination makes them itself: leave it out in the mapping`;
}

const MAX_CHOICES = 20;

/** Returns advice on what a field with choices takes, for the end of a message; empty for others. */
export function sayChoices(choices: readonly string[] = []): string {
  if (choices.length === 0) return '';
  const more = choices.length > MAX_CHOICES ? ` and ${choices.length - MAX_CHOICES} more` : '';
  return `: it takes ${choices.slice(0, MAX_CHOICES).join(', ')}${more}`;
}

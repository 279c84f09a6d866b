import { z } from 'zod';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Commands } from '../commands/commands-file.ts';
import type { FetchAllow } from './fetch-allow.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { PushServices } from '../web-push/push-services.ts';

/**
 * What every connector is: a value that says how an outside system is reached and read, or written to. The server uses
 * its settings, `check` and `discover`; the flow `runSync` reads and writes by it. `docs/making-a-connector.md` shows
 * how to make one, and every one passes the suite in `test/connectors/core/contract.ts`.
 */

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/**
 * A record by its fields' names. A number that a double would round comes as its text, a time as ISO 8601, bytes as
 * base64.
 */
export type SourceRecord = { [field: string]: Json };

export type Field = {
  name: string;
  type: FieldType;
  nullable: boolean;
  /**
   * Whether records may give a destination's field a value: `as_key` only where it is part of the key. Always, if left
   * out.
   */
  takes_values?: 'never' | 'as_key';
};

/** What can be read of a source: a table, a file, a kind of object. */
export type Stream = {
  name: string;
  fields: Field[];
  /** The fields that together name a record; empty where the source does not tell. */
  key: string[];
  /**
   * How what is new or changed can be read alone: by one of these fields; `own`: by a state that the source keeps
   * itself; empty: not at all.
   */
  incremental: { fields: string[] } | 'own';
};

/** Where reading goes on: JSON that only its connector understands. Never a secret. */
export type Cursor = Json;

export type Reading = {
  stream: string;
  mode: 'full' | 'incremental';
  /** One of the stream's fields for `incremental`; null where the source keeps its own state. */
  cursorField: string | null;
  /**
   * Null: from the beginning. In a full reading it comes from a batch of this very reading, that was interrupted; in an
   * incremental one it may also come from an earlier one, that ended.
   */
  cursor: Cursor | null;
};

/** A record, or what should have been one: `raw` is as much of it as can be shown, at most 2 KiB. */
export type ReadItem = { kind: 'record'; record: SourceRecord } | { kind: 'malformed'; raw: string; message: string };

/** At most BATCH_ITEMS and about BATCH_BYTES. */
export type Batch = {
  items: ReadItem[];
  /** As they came from the source. */
  bytes: number;
  /** Reading on from here brings everything that follows this batch; it may bring some again. */
  cursor: Cursor | null;
  /**
   * How much of what this reading brings has come with this batch, from 0 to 1, where the source can tell or estimate
   * it.
   */
  done?: number;
  /** The fields from this batch on, where the source told them anew. */
  fields?: Field[];
  /** How many of the items have a value in the cursor's field that never moves the cursor (`odd-cursors.ts`). */
  oddCursors?: number;
};

export const BATCH_ITEMS = 5_000;
export const BATCH_BYTES = 4 * 1024 * 1024;

/** The ways out that a connector may use: nothing else leads out of the process. */
export type WaysOut = {
  /** The one way out by HTTP. */
  fetch: GuardedFetch;
  /** The addresses beyond public ones that any other protocol may reach. */
  allow: FetchAllow;
  /** The operator's commands: no other may be run. */
  commands: Commands;
  /** The push services of browsers that may be reached; undefined: those that are known. */
  pushServices?: PushServices;
};

export type ConnectorContext = WaysOut & {
  /** A folder for what lives as long as a call, which makes a folder of its own there and removes it. */
  scratch: string;
  /** Aborted when the run is canceled, the process drains, or time is up. */
  signal: AbortSignal;
  /** Of each gzip file; MAX_DECOMPRESSED_BYTES unless tests set less. */
  maxDecompressedBytes?: number;
  /** A line for the run's log, without secrets and without what records hold. */
  log(line: string): void;
};

/**
 * All refuse (`sourceRefusal`) with words that tell what to do and quote no secret: `source_refused` and
 * `address_refused` where the same would fail again, `source_unavailable` (with `retry_after` in seconds where the
 * source named a time) and `transfer_broken` where it may go better later.
 */
export type Source<Settings> = {
  /** Reaches the source with these settings, as `read` will. */
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  discover(settings: Settings, context: ConnectorContext): Promise<Stream[]>;
  /** Ends by itself only when all was read. */
  read(settings: Settings, reading: Reading, context: ConnectorContext): AsyncIterable<Batch>;
};

/**
 * What became of a record that was written. `later`: its outcome may differ the next time. `field`: whose value was
 * wrong, where that is known; the message is then said of the value (`is no integer`), which is quoted before it. None
 * quotes it itself.
 */
export type WriteOutcome =
  | { kind: 'ok' }
  | { kind: 'unchanged' }
  | { kind: 'failed'; message: string; later: boolean; field?: string };

export type Destination<Settings> = {
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  /** What it can be written to, with the fields it takes; null where anything goes. */
  discover(settings: Settings, context: ConnectorContext): Promise<Stream[] | null>;
  /**
   * Brings the outcomes of the next records, in their order, as soon as they are known: those before an error are kept.
   * To write the same records again does no harm: they are named by `key`, the values of the fields that name a record,
   * or by `batchId`, the same for the same batch.
   */
  write(settings: Settings, writing: Writing, context: ConnectorContext): AsyncIterable<WriteOutcome[]>;
};

export type Writing = {
  stream: string;
  key: string[];
  batchId: string;
  records: SourceRecord[];
  /** So many of the first have their outcome from an attempt before this one, and are not written again. */
  answered: number;
  isRemoval: boolean;
  /**
   * Call it first with `answered`, and before the first `count` records may have left. If a run is canceled, the
   * records after the last `count` were not sent; without a call, all of them may have arrived.
   */
  sending?(count: number): void;
};

/** An alert about a run that needs attention: identifiers, Millrace's own words and a link, no text from outside. */
export type Alert = {
  kind: 'sync' | 'exporter';
  /** Of the sync or exporter. */
  identifier: string;
  run: string;
  /** Why: failed, paused, recovered, and others by kind. */
  alert: string;
  /** The status of the run's failure. */
  failure: string | null;
  /** All of it in one line, without the link. */
  text: string;
  link: string;
  /** ISO 8601. */
  ended_at: string;
};

/** Where alerts go. Both refuse as sources do. */
export type AlertChannel<Settings> = {
  check(settings: Settings, context: ConnectorContext): Promise<void>;
  /** An alert may come twice: `run` and `alert` tell. */
  send(settings: Settings, alert: Alert, context: ConnectorContext): Promise<void>;
};

/** What became of a message on a device, as the receiver gets it. */
export type OutcomeRecord = {
  /** As the device tells of the message. */
  millrace_id: string;
  campaign_id: string;
  /** Of POST /api/transac. */
  requestId: string | null;
  /** Null of an erased person. */
  user: string | null;
  device_id: string | null;
  code: string;
  details: string | null;
  channel: 'push' | 'inapp' | 'both';
  /** ISO 8601. */
  date: string;
};

/** A batch may come twice, under the same id. */
export type OutcomeBatch = { batchId: string; appId: string; outcomes: readonly OutcomeRecord[] };

/** Where outcomes of messages go. Refuses as sources do. */
export type OutcomeChannel<Settings> = {
  /** How many outcomes a batch has at most. */
  batchSize(settings: Settings): number;
  send(settings: Settings, batch: OutcomeBatch, context: ConnectorContext): Promise<void>;
};

export type Connector<Settings = never> = {
  /** In the API and in the store: small letters, digits and dashes. */
  name: string;
  title: string;
  /** An object whose secret members are made by `secret`. */
  settings: z.ZodType<Settings>;
  source?: Source<Settings>;
  destination?: Destination<Settings>;
  alerts?: AlertChannel<Settings>;
  outcomes?: OutcomeChannel<Settings>;
};

/** A connector of any settings: what is given to its functions has been parsed by its own schema. */
export type AnyConnector = Connector<unknown>;

/** Marks a member of the settings as secret: stored encrypted, shown by none. */
export function secret<S extends z.ZodType>(schema: S): S {
  return schema.meta({ secret: true });
}

/**
 * Marks a member of the settings as one that cannot lead a secret elsewhere, nor weaken what protects it on its way.
 * When any other member changes, the secrets have to be given anew.
 */
export function harmless<S extends z.ZodType>(schema: S): S {
  return schema.meta({ harmless: true });
}

/** The names of the secret members. */
export function secretMembers(settings: z.ZodType): string[] {
  return membersMarked(settings, 'secret');
}

/** The names of the harmless members. */
export function harmlessMembers(settings: z.ZodType): string[] {
  return membersMarked(settings, 'harmless');
}

/** The members of the settings by their names. */
export function settingMembers(settings: z.ZodType): Record<string, z.ZodType> {
  return settings instanceof z.ZodObject ? (settings.shape as Record<string, z.ZodType>) : {};
}

function membersMarked(settings: z.ZodType, mark: 'secret' | 'harmless'): string[] {
  return Object.entries(settingMembers(settings))
    .filter(([, member]) => isMarked(member, mark))
    .map(([name]) => name);
}

/** Also under `.optional()` and `.default()`. */
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

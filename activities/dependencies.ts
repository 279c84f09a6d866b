/** Dependencies of steps: database, files, Temporal, outside systems, and the slots that limit them. */
import type { Client } from '@temporalio/client';
import type { WaysOut } from '../connectors/core/contract.ts';
import type { Mailer } from '../connectors/smtp/mailer.ts';
import type { Semaphore } from '../domain/core/semaphore.ts';
import type { KeptLimits } from '../domain/imports/kept-files.ts';
import type { Database } from '../store/core/database.ts';
import type { Files } from '../store/core/files.ts';
import type { Scratch } from '../store/core/scratch.ts';
import type { Secrets } from '../store/core/secrets.ts';

/** Structured logging: fields first, never a value of a customer. */
export type Log = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;

/** Dependencies of all steps. Each step takes the part it names. */
export type Dependencies = {
  db: Database;
  files: Files;
  secrets: Secrets;
  log: Log;
  temporal: Client;
  /** The ways out to addresses that users set. */
  outside: WaysOut;
  mailer: Mailer;
  /** The area of the file store in which mails lie if there is no server for them. */
  outbox: Files;
  /** The folder for files that a step needs only while it runs. */
  scratch: Scratch;
  /** How long steps wait for an outside system that is away, from its first error without progress on. */
  patienceMs: number;
  /** Bounds the files that the service keeps for callers. */
  keptLimits: KeptLimits;
  /** The URL by which callers reach the server, without a slash at the end. */
  publicUrl: string;
  countRows: (outcome: 'ok' | 'ignored' | 'failed', rows: number) => void;
  countValues: (outcome: 'ok' | 'ignored' | 'failed', values: number) => void;
  /** Aborted when the process drains: a long step ends at its next commit, and another worker continues it. */
  draining: AbortSignal;
  /** Approximate number of records of an import that are read and merged together. */
  batchRecords: number;
  /** Taken by each step of an import, and of a feed, so that one entity does not take all slots of their queue. */
  takeImportSlot: Semaphore;
  takeFeedSlot: Semaphore;
  /** Taken for each batch of an import: concurrent imports take turns, which bounds memory. */
  takeBatchSlot: Semaphore;
  /** Taken while a part of a batch of an import or a sync is checked or commits, never while it waits. */
  takePartSlot: Semaphore;
  /** Taken while a batch of a feed is checked and commits. */
  takeFeedBatchSlot: Semaphore;
  /** Held by each run of a sync while it reads, which bounds memory. */
  takeSyncSlot: Semaphore;
  /** Held by each run of an exporter and each file while it is written, which bounds memory. */
  takeExportSlot: Semaphore;
  /** Held by each step that erases people or collects their data. */
  takeGdprSlot: Semaphore;
  /** Taken for each portion of a send: a send that waits for its next moment has no slot. */
  takeSendSlot: Semaphore;
  /** Taken for each portion of a send of at most `SMALL_SEND` messages, so that it does not wait for large sends. */
  takeSmallSendSlot: Semaphore;
  /** Taken for each attempt to send a mail: a slow mail server doesn't hold up sends. */
  takeMailSlot: Semaphore;
  /** Taken while the people of an audience or a segment are searched. */
  takeAudienceSlot: Semaphore;
  /** Taken by each step that counts an entity's messages, or deletes those that are no longer kept. */
  takeReportSlot: Semaphore;
  /** Taken for each batch of outcomes, and each attempt to put lists of deletions into buckets. */
  takeDeliverySlot: Semaphore;
  countRecords: (outcome: 'written' | 'unchanged' | 'ignored' | 'failed', records: number) => void;
  countExportRuns: (outcome: 'finished' | 'failed' | 'canceled') => void;
  /** Counts rows of runs that finished. */
  countExportRows: (rows: number) => void;
  /** A point at which a test may end the process; does nothing outside the test worker. */
  boundary: (name: string) => void;
};

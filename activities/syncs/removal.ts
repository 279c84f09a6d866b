// Removes from the destination what the source has deleted, or what a complete reading of it no longer contains.
import type { Json, SourceRecord, WriteOutcome } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { targetsOf } from '../../domain/syncs/record-mapping.ts';
import { toldFields } from '../../domain/syncs/schema-change.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { type CustomerAttribute, listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../../store/attributes/merge-attribute-values.ts';
import { holdSorRevision } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { countRecords, deleteRecords, listVanished, type Reading } from '../../store/syncs/sync-records.ts';
import { updateRunRemoval } from '../../store/syncs/sync-run-progress.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRunById, lockRun } from '../../store/syncs/sync-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { checksumOfRecord } from './checksum.ts';
import type { RunScope, SyncEnds, SyncJob } from './job.ts';

/** Maximum numbers of values per transaction, and of records per call of another destination. */
const MAX_VALUES = 20_000;
const MAX_RECORDS = 500;

/**
 * Removes records that the source has deleted, and those that a complete reading no longer contains. Removes nothing if
 * some records of a complete reading had neither a valid key nor one of the source, or if it is more than the sync
 * allows without approval. Leaves out records that may be among those of the reading with an unknown source key.
 */
export async function removeVanished(deps: Dependencies, job: SyncJob, ends: SyncEnds, scope: RunScope): Promise<void> {
  const { sync, run } = job;
  if (!sync.removes || run.dryRun || run.rootId !== null || run.removal) return;
  const { unnamed = 0, unidentified = 0 } = (await findRunById(deps.db, sync.entityId, run.id))?.progress ?? {};
  const isCertain = unidentified > 0 && sync.mode === 'full';
  const reading = { syncId: sync.id, runId: run.id, mode: sync.mode, isCertain };
  const reason = await reasonAgainst(deps, job, reading, unnamed);
  if (reason) return settle(deps, job, 0, reason);
  const failures =
    'sorId' in sync.destination
      ? await removeAttributes(deps, job, sync.destination.sorId, reading, scope)
      : await removeRecords(deps, job, ends, reading, scope);
  const failed =
    failures.count === 0
      ? []
      : [`${failures.count} could not be removed, and will be tried again: ${failures.message}`];
  const left = [...failed, ...(await sayUncertain(deps, sync, reading, failures.count))];
  await settle(deps, job, 0, { state: 'done', reason: left.length === 0 ? null : left.join('; ') });
}

/** Says how many records stay since they may be among the failed ones. */
async function sayUncertain(
  { db }: Dependencies,
  { entityId }: Sync,
  reading: Reading,
  failures: number,
): Promise<string[]> {
  if (!reading.isCertain) return [];
  const stayed = (await countRecords(db, entityId, { ...reading, isCertain: false })).vanished - failures;
  if (stayed === 0) return [];
  return [
    `${stayed} stayed, which may be among the failed records that name no customer or key: correct those in the source or the mapping`,
  ];
}

async function reasonAgainst(
  { db }: Dependencies,
  { sync, run: { removed, removalsConfirmed } }: SyncJob,
  reading: Reading,
  unnamed: number,
): Promise<SyncRun['removal']> {
  if (unnamed > 0 && sync.mode === 'full') {
    const failed = unnamed === 1 ? '1 failed record names' : `${unnamed} failed records name`;
    return {
      state: 'skipped',
      reason: `nothing was removed, since ${failed} no customer or key: correct that in the source or the mapping`,
    };
  }
  const { known, vanished } = await countRecords(db, sync.entityId, reading);
  // A step that is repeated may find its removals done; `known` was not counted then.
  const isTooMuch = vanished > 0 && (vanished + removed) * 100 > (known + removed) * sync.removalLimit;
  if (!isTooMuch || removalsConfirmed) return null;
  const found = `${vanished} of ${known} records have vanished, over ${sync.removalLimit} %`;
  return { state: 'held', reason: `${found}: run it with confirm_removals if that is right` };
}

async function settle(
  { db, boundary }: Dependencies,
  { key }: SyncJob,
  removed: number,
  removal: SyncRun['removal'],
): Promise<void> {
  await write(db, async (tx) => {
    const run = await lockRun(tx, key);
    if (!run) throw new JobGone();
    await updateRunRemoval(tx, run, removed, removal);
  });
  boundary('sync: removal noted');
}

type Failures = { count: number; message: string };

async function removeAttributes(
  deps: Dependencies,
  { sync, key }: SyncJob,
  sorId: number,
  reading: Reading,
  scope: RunScope,
): Promise<Failures> {
  const { entityId } = sync;
  for (let after: string | null = '', from = after; after !== null;) {
    scope.throwIfEnding();
    from = after;
    after = await write(
      deps.db,
      async (tx) => {
        const run = await lockRun(tx, key);
        if (!run) throw new JobGone();
        await holdSorRevision(tx, entityId, sorId);
        const attributes = await attributesOf(tx, sync, sorId);
        const limit = Math.max(1, Math.floor(MAX_VALUES / Math.max(1, attributes.length)));
        const vanished = await listVanished(tx, entityId, reading, from, limit);
        if (vanished.length === 0) return null;
        const keys = vanished.map((record) => record.key);
        const changes = removals(keys, attributes, sync.mapping.customer!.type);
        const said = { runId: key.jobId };
        if (changes.length > 0)
          await mergeAttributeValues(tx, deps.secrets, entityId, sorId, prepareChanges(changes), { said });
        await deleteRecords(tx, run, keys);
        deps.boundary('sync: before a removal commits');
        return keys.at(-1)!;
      },
      { collide: true },
    );
    if (after !== null) deps.boundary('sync: after a removal committed');
  }
  return { count: 0, message: '' };
}

/**
 * Returns the attributes that the sync writes, disabled ones included. Leaves out known fields that the mapping drops
 * or writes under another name: attributes of these keys belong to others.
 */
async function attributesOf(
  tx: Tx,
  { entityId, mapping, knownFields, readFields }: Sync,
  sorId: number,
): Promise<CustomerAttribute[]> {
  const others =
    mapping.otherFields === 'keep' ? toldFields(knownFields ?? [], readFields ?? []).map(({ name }) => name) : [];
  const elsewhere = new Set([
    mapping.customer!.field,
    ...mapping.fields.flatMap((field) => ('from' in field ? field.from : [])),
  ]);
  const keys = new Set([...targetsOf(mapping), ...others.filter((name) => !elsewhere.has(name))]);
  return (await listCustomerAttributesOf(tx, entityId, [sorId])).filter(({ key }) => keys.has(key));
}

function removals(
  customerIds: string[],
  attributes: CustomerAttribute[],
  customerType: CustomerType,
): AttributeChange[] {
  return customerIds.flatMap((customerId, line) =>
    attributes.map(({ id: attributeId, valueType }): AttributeChange => {
      const key = { customerType, customerId, attributeId, line };
      return valueType === 'Set'
        ? { kind: 'set', ...key, action: 'DEL', elements: [] }
        : { kind: 'value', ...key, valueType, value: null };
    }),
  );
}

/** Removes vanished records from another destination. Sending a removal twice is harmless: the second is unchanged. */
async function removeRecords(
  deps: Dependencies,
  { sync, key, run }: SyncJob,
  { destination: open }: SyncEnds,
  reading: Reading,
  scope: RunScope,
): Promise<Failures> {
  const { entityId } = sync;
  const { stream, key: fields } = sync.destination as { stream: string; key: string[] };
  const failures: Failures = { count: 0, message: '' };
  for (let after = ''; ;) {
    scope.throwIfEnding();
    const vanished = await listVanished(deps.db, entityId, reading, after, MAX_RECORDS);
    if (vanished.length === 0) return failures;
    const records = vanished.map((record) => recordOf(fields, record.key));
    const batchId = `${run.identifier}-${checksumOfRecord({ vanished })}`;
    const writing = { stream, key: fields, batchId, records, answered: 0, isRemoval: true };
    let answered = 0;
    for await (const outcomes of open!.connector.destination!.write(open!.settings, writing, scope.context)) {
      deps.boundary('sync: removal sent');
      const some = vanished.slice(answered, answered + outcomes.length);
      const gone = some.filter((_, index) => outcomes[index]!.kind !== 'failed').map((record) => record.key);
      const failed = outcomes.find((outcome) => outcome.kind === 'failed');
      answered += some.length;
      failures.count += some.length - gone.length;
      if (failed) failures.message = shorten(redacted(sayFailed(failed), open!.secretSettings));
      await write(deps.db, async (tx) => {
        const held = await lockRun(tx, key);
        if (!held) throw new JobGone();
        await deleteRecords(tx, held, gone);
        deps.boundary('sync: before a removal commits');
      });
    }
    after = vanished.at(-1)!.key;
  }
}

/** Returns the message without the value: it is stored for the whole run. */
function sayFailed({ message, field }: Extract<WriteOutcome, { kind: 'failed' }>): string {
  return field === undefined ? message : `the field ${field} ${message}`;
}

function recordOf(fields: string[], key: string): SourceRecord {
  const values = JSON.parse(key) as Json[];
  return Object.fromEntries(fields.map((field, index) => [field, values[index]!]));
}

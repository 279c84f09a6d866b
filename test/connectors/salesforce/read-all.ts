import type { Batch, Cursor, Reading, SourceRecord } from '../../../connectors/core/contract.ts';
import { salesforce } from '../../../connectors/salesforce/salesforce.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import type { SalesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { testContext } from '../core/contract.ts';

export const settingsOf = (server: SalesforceServer, more: object = {}) =>
  salesforce.settings.parse({
    address: server.url,
    client_id: server.app.clientId,
    client_secret: server.app.clientSecret,
    ...more,
  });

type Some = Partial<Reading> & { logged?: string[] };

/** Reads contacts by their email, or as the reading says otherwise. */
export async function readAll(settings: unknown, some: Some = {}, between?: (batch: Batch) => void) {
  const { logged, ...asked } = some;
  const mode = asked.mode ?? 'incremental';
  const cursorField = mode === 'full' ? null : 'SystemModstamp';
  const reading = { stream: 'Contact', mode, cursorField, cursor: null, fields: ['Email'], ...asked };
  const context = testContext(AbortSignal.timeout(HANGS_MS), logged);
  const records: SourceRecord[] = [];
  const deleted: string[] = [];
  const kinds: string[] = [];
  let after: Cursor | null = reading.cursor;
  for await (const batch of salesforce.source!.read(settings, reading, context)) {
    for (const item of batch.items) {
      kinds.push(item.kind);
      if (item.kind === 'record') records.push(item.record);
      if (item.kind === 'deleted') deleted.push(item.key!);
    }
    after = batch.cursor;
    between?.(batch);
  }
  const emails = records.map(({ Email: email }) => email as string).toSorted();
  return { records, deleted, kinds, emails, cursor: after };
}

export const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error as Refusal,
  );

import { findScanStart, isLogKept } from '../../store/attributes/attribute-change-log.ts';
import { listChangedCustomers, type ScanCursor } from '../../store/attributes/changed-customers.ts';
import { addPendingCustomers } from '../../store/attributes/customers.ts';
import { streamProfileValues } from '../../store/attributes/profile-values.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { listApplications } from '../../store/tracking/installations.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type Reply, streamedResult } from '../http/reply.ts';
import { type AskedProfiles, auditPage } from './profile-audit.ts';
import { type ChangesCursor, nextUrl, openChangesCursor } from './profile-cursor.ts';
import { refuseParam } from './profile-query.ts';
import { type Applications, changedProfiles } from './profile-record.ts';
import { findProfileSelection, type ProfileSelection } from './profile-selection.ts';

type Changes = ReturnType<typeof streamProfileValues>;

/** A page of what changed since a date. */
export async function listProfileChanges(asked: AskedProfiles, deps: RouteDependencies, since: Date): Promise<Reply> {
  const {
    caller: { entityId },
    query,
  } = asked;
  const filter = { customerType: query.customer_id_type ?? null, customerIds: query.customer_ids ?? null };
  const cursor = openChangesCursor(deps.secrets, entityId, query);
  const scan = cursor ?? (await begin(deps.db, since, filter.customerIds !== null));
  if (scan.log === undefined) await addPendingCustomers(deps.db, entityId);
  const { selection, changed, next } = await write(deps.db, async (tx) => {
    // A scan that was left lying until the log forgot what it was to read next.
    if (cursor?.log && !(await isLogKept(tx, cursor.log.receivedAt))) refuseParam('cursor', 'is too old: begin again');
    const selected = await findProfileSelection(tx, entityId, query);
    const from = scan.log === undefined ? { after: scan.after ?? null } : { log: scan.log };
    const page = await listChangedCustomers(
      tx,
      entityId,
      { ...scan, filter, selection: selected.values },
      from,
      query.num_per_page,
    );
    await auditPage(tx, asked, deps, page.changed.length);
    return { selection: selected, ...page };
  });
  const found = streamProfileValues(deps.db, entityId, changed, selection.values);
  const applications = await listApplications(deps.db, entityId, changed);
  return streamedResult('profiles', withChanges(found, selection, applications), {
    updated_until: scan.until,
    next: next && nextUrl(deps, entityId, query, moved(scan, next)),
  });
}

/** By the change log, unless it does not reach back so far, or some customers are asked for by name. */
async function begin(db: Queryable, date: Date, isByName: boolean): Promise<ChangesCursor> {
  const since = date.toISOString();
  const { now, until, isLogged } = await findScanStart(db, since);
  return { since, until, upTo: now, ...(isLogged && !isByName ? { log: null } : {}) };
}

function moved({ since, until, upTo }: ChangesCursor, cursor: ScanCursor): ChangesCursor {
  return { since, until, upTo, ...('log' in cursor ? { log: cursor.log } : { after: cursor.after ?? undefined }) };
}

/** Nobody of whom nothing that is selected changed. */
async function* withChanges(found: Changes, selection: ProfileSelection, applications: Applications) {
  const show = changedProfiles(selection, applications);
  for await (const one of found) if (one.values.length > 0) yield show(one);
}

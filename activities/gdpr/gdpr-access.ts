/** The steps of an access request: the archive of each person, and its receipt. */
import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { ArchiveHead } from '../../domain/gdpr/archive-page.ts';
import type { ShownWith } from '../../domain/gdpr/archive-record.ts';
import { locationWords } from '../../domain/gdpr/personal-data-words.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import { deleteNotedFiles } from '../../store/core/file-deletions.ts';
import {
  archivePrefix,
  beginArchive,
  type BegunArchive,
  isArchiveWanted,
  listAppNames,
  recordArchive,
  type Told,
} from '../../store/gdpr/archives.ts';
import { listIdentifiersOf } from '../../store/gdpr/identifiers.ts';
import { listFileRecipients } from '../../store/gdpr/export-deletions.ts';
import { idsOfType } from '../../store/gdpr/people-keys.ts';
import type { KnownBy } from '../../store/gdpr/personal-data-location.ts';
import { personalData } from '../../store/gdpr/personal-data-registry.ts';
import { atMostEach } from '../core/at-most-each.ts';
import { heartbeating, stopIfAsked } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Archived, type ExportedLocation, putArchive } from './archive.ts';
import { mailAboutRequest } from './mail-about-request.ts';
import {
  type ClaimedRequest,
  claimRequest,
  collectIdentifiersToShow,
  discardRequest,
  inGdprSlot,
  recordError,
  startNextUnvouched,
} from './request-steps.ts';
import { writeAccessReceipt } from './write-receipt.ts';

/** The message of the reference (GDPR request records). */
const NOTHING_KNOWN = 'No installations found for this user';

/** How often the archive writer checks for cancellation. */
const LOOK_EVERY_MS = 1_000;

/** The person of the archive was erased meanwhile, or another attempt writes the archive. */
class Unwanted extends Error {
  override readonly name = 'Unwanted';
}

/** Writes the missing archives of a request, one after another. The request shows an error, and Temporal retries. */
async function writeArchives(deps: Dependencies, claim: JobClaim): Promise<void> {
  for (;;) {
    stopIfAsked(deps);
    const shown = await inGdprSlot(deps, claim, 'writing archives', () => writeNext(deps, claim));
    if (shown === 'none is left') return;
    // An erasure of the other person is under way.
    if (shown === 'outdated') await delay(LOOK_EVERY_MS);
  }
}

async function writeNext(deps: Dependencies, claim: JobClaim): Promise<'shown' | 'outdated' | 'none is left'> {
  try {
    const begun = await write(deps.db, (tx) => beginArchive(tx, claim));
    if (!begun) return 'none is left';
    deps.boundary('gdpr: archive begun');
    return (await writeArchive(deps, claim, begun)) ? 'outdated' : 'shown';
  } catch (error) {
    if (error instanceof Unwanted || Context.current().cancellationSignal.aborted) throw error;
    return recordError(deps, claim, 'an archive could not be written', error);
  }
}

/** Writes one archive, and deletes it if its person was erased meanwhile. Returns whether to write it again. */
async function writeArchive(deps: Dependencies, claim: JobClaim, { person, key }: BegunArchive): Promise<boolean> {
  const { db, files } = deps;
  let isOutdated = false;
  const begun = { ...claim, ordinal: person.ordinal, key };
  // Deletes files of interrupted attempts.
  await deleteNotedFiles(deps, claim.entityId, archivePrefix(claim));
  try {
    const told = await tellOf(deps, claim, { person, key });
    deps.boundary('gdpr: archive put');
    const recorded = await write(db, (tx) => recordArchive(tx, begun, told));
    if (recorded === 'unwanted') throw new Unwanted();
    isOutdated = recorded === 'outdated';
    if (told.archive === null) await deleteNotedFiles(deps, claim.entityId, key);
  } catch (error) {
    if (!(error instanceof Unwanted)) throw error;
    await files.delete(key); // no row names it any more
    if (await isArchiveWanted(db, { ...begun, key: null })) throw error;
  }
  deps.boundary('gdpr: archive recorded');
  return isOutdated;
}

async function tellOf(deps: Dependencies, claim: JobClaim, { person, key }: BegunArchive): Promise<Told> {
  const known = await listIdentifiersOf(deps.db, claim, person);
  const { shown, others, ...archive } = await archiveOf(deps, claim, { person, key, known });
  if (!hasData(shown)) return { shown, archive: null, message: NOTHING_KNOWN };
  const hashes = others.map((userId) => deps.secrets.customerHash(claim.entityId, 'user_id', userId));
  return { shown, archive: { ...archive, others: hashes }, message: null };
}

async function archiveOf(
  deps: Dependencies,
  claim: JobClaim,
  { person, key, known }: BegunArchive & { known: KnownBy[] },
): Promise<Archived> {
  const { db, files } = deps;
  const { entityId } = claim;
  const head: ArchiveHead = {
    request: claim.identifier,
    person: person.ordinal,
    company: await findEntityName(db, entityId),
    madeAt: new Date().toISOString(),
    ids: known.map(({ customerType: kind, customerId: id }) => ({ kind, id })),
    fileRecipients: await listFileRecipients(db, entityId),
  };
  const idsOf = (type: CustomerType) => new Set(idsOfType(known, type));
  const shownWith: ShownWith = {
    apps: await listAppNames(db, entityId),
    ids: { user_id: idsOf('user_id'), device_id: idsOf('device_id') },
  };
  const isWanted = atMostEach(
    LOOK_EVERY_MS,
    async () => {
      Context.current().cancellationSignal.throwIfAborted();
      if (!(await isArchiveWanted(db, { ...claim, ordinal: person.ordinal, key }))) throw new Unwanted();
    },
    performance.now(),
  );
  return deps.scratch.withFolder(entityId, 'archive', (folder) =>
    putArchive(files, key, head, {
      locations: locationsOf(deps, entityId, known),
      shownWith,
      isWanted,
      folder,
    }),
  );
}

function locationsOf(deps: Dependencies, entityId: number, known: KnownBy[]): ExportedLocation[] {
  return personalData.map((location) => ({ name: location.name, records: location.export(deps, entityId, known) }));
}

/** Returns whether anything but requests is known of the person: requests alone make no archive. */
function hasData(shown: Record<string, number>): boolean {
  return Object.entries(shown).some(([location, rows]) => rows > 0 && !locationWords(location).isOfRequests);
}

export type GdprAccessSteps = ReturnType<typeof gdprAccessSteps>;

/** The steps of `workflows/gdpr-access.ts`, which writes archives of people's data. Refused as in `gdprDeleteSteps`. */
export const gdprAccessSteps = (deps: Dependencies) => ({
  claimAccess: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /** In old histories it may also answer with a wait, for a person with too many ids. */
  gatherToShow: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(async () => {
      await collectIdentifiersToShow(deps, claim);
      return null;
    }),
  writeArchives: (claim: JobClaim): Promise<void> => heartbeating(() => writeArchives(deps, claim)),
  writeAccessReceipt: (claim: JobClaim): Promise<void> =>
    heartbeating(async () => {
      await writeAccessReceipt(deps, claim);
      await startNextUnvouched(deps, claim);
    }),

  mailAboutAccess: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => mailAboutRequest(deps, claim, 'treated')),

  /** Null once the request is deleted; else when to try again. */
  discardAccess: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardRequest(deps, ref)),
});

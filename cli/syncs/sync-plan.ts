/** Plans what files of syncs would change on the server. */
import type { BodyOf, Client, Sync } from '../../api/client.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { CommandContext } from '../core/command-context.ts';
import { printable } from '../core/table.ts';
import { type Change, changesBetween } from './definition-changes.ts';
import { listSyncEnds, resolveEnd, type SyncEnds } from './sync-ends.ts';
import { type Problem, readSyncFile, sayPlace, type SyncDocument } from './sync-file.ts';
import { parsePath } from './sync-members.ts';
import { definitionOf, listSyncs } from './sync-record.ts';

/** The planned change of a sync. */
export type PlannedSync = {
  name: string;
  /** Includes everything that the file leaves out. */
  definition: BodyOf<'createSync'>;
  /** The sync of that name on the server. */
  existing: Sync | null;
  changes: Change[];
};

export type SyncPlan = { syncs: PlannedSync[]; onlyOnServer: Sync[] };

/** Plans the changes of the server's syncs. Refuses all files, naming every fault, unless each sync is valid. */
export async function planSyncs({ client, stdin }: CommandContext, paths: string[]): Promise<SyncPlan> {
  const problems: Problem[] = [];
  const documents: SyncDocument[] = [];
  for (const path of paths) documents.push(...(await readSyncFile({ stdin }, path, problems)));
  problems.push(...sameNames(documents));
  const [ends, there] = [await listSyncEnds(client), await listSyncs(client)];
  const syncs: PlannedSync[] = [];
  for (const document of documents) {
    const planned = await planSync(client, document, { ends, there, problems });
    if (planned) syncs.push(planned);
  }
  if (problems.length > 0) return refuse(400, 'bad_files', inOrder(problems).join('\n'));
  const names = new Set(syncs.map(({ name }) => name));
  return { syncs, onlyOnServer: there.filter(({ name }) => !names.has(name)) };
}

/** `element`: a member's wire name, or '' for the whole sync. */
type FieldError = { element: string; message: string };
type Found = { ends: SyncEnds; there: Sync[]; problems: Problem[] };

/** Plans one sync; returns null if it has faults, which are added to the problems. */
async function planSync(
  client: Client,
  document: SyncDocument,
  { ends, there, problems }: Found,
): Promise<PlannedSync | null> {
  const { name, body } = document;
  const { resolved, errors } = resolveNames(body, ends);
  problems.push(...errors.map((error) => problemOf(document, error)));
  const existing = there.find((sync) => sync.name === name) ?? null;
  try {
    // A missing name would hide the server's other findings.
    const asked = { ...resolved, name: name || '?', ...(existing ? { sync_id: existing.identifier } : {}) };
    const answer = await client.validateSync({ body: asked as never });
    const definition = definitionOf(answer.definition);
    return { name, definition, existing, changes: existing ? changesBetween(definitionOf(existing), definition) : [] };
  } catch (error) {
    if (!(error instanceof Refusal) || (error.http !== 400 && error.http !== 409)) throw error;
    const messages = error.extra.messages ?? [{ element: '', message: error.message }];
    // Misspelled members, and missing, unknown or ambiguous names, were found before, with better advice.
    const isKnown = ({ element }: FieldError) =>
      errors.some((known) => known.element === element) ||
      (element === 'name' && name === '') ||
      problems.some(({ message }) => message.startsWith(`${element}: is unknown`));
    problems.push(...messages.filter((message) => !isKnown(message)).map((message) => problemOf(document, message)));
    return null;
  }
}

function problemOf({ where }: SyncDocument, { element, message }: FieldError): Problem {
  return { place: where(parsePath(element)), message: element === '' ? message : `${element}: ${message}` };
}

function sameNames(documents: SyncDocument[]): Problem[] {
  const first = new Map<string, SyncDocument>();
  return documents.flatMap((document) => {
    if (document.name === '') return [];
    const other = first.get(document.name);
    if (other) {
      const message = `name: ${document.name} is the name of the sync at ${sayPlace(other.where(['name']))} already`;
      return [{ place: document.where(['name']), message }];
    }
    first.set(document.name, document);
    return [];
  });
}

/** Sorts by the order of the files, then by line. */
function inOrder(problems: Problem[]): string[] {
  const files = [...new Set(problems.map(({ place }) => place.file))];
  const byPlace = problems.toSorted(
    ({ place: one }, { place: other }) =>
      files.indexOf(one.file) - files.indexOf(other.file) || one.line - other.line || one.column - other.column,
  );
  return byPlace.map(({ place, message }) => printable(`${sayPlace(place)}: ${message}`));
}

/** Replaces names by identifiers. The server refuses values that are not texts. */
function resolveNames(
  body: Record<string, unknown>,
  ends: SyncEnds,
): { resolved: Record<string, unknown>; errors: FieldError[] } {
  const resolved = structuredClone(body);
  const errors: FieldError[] = [];
  for (const [side, kind] of [
    ['source', 'connection'],
    ['destination', 'connection'],
    ['destination', 'sor'],
  ] as const) {
    const end = resolved[side] as Record<string, unknown> | null | undefined;
    const given = typeof end === 'object' && end !== null ? end[kind] : undefined;
    if (typeof given !== 'string') continue;
    const found = resolveEnd(ends, kind, given);
    if ('error' in found) errors.push({ element: `${side}.${kind}`, message: found.error });
    else end![kind] = found.identifier;
  }
  const alerts = resolved.alerts as { connections?: unknown } | null | undefined;
  const channels = typeof alerts === 'object' && alerts !== null ? alerts.connections : undefined;
  if (!Array.isArray(channels)) return { resolved, errors };
  for (const [index, given] of channels.entries()) {
    if (typeof given !== 'string') continue;
    const found = resolveEnd(ends, 'connection', given);
    if ('error' in found) errors.push({ element: `alerts.connections.${index}`, message: found.error });
    else channels[index] = found.identifier;
  }
  return { resolved, errors };
}

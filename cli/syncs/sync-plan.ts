/** Plans what files of syncs would change on the server. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type ParsedNode,
  visit,
} from 'yaml';
import { type BodyOf, type Client, stringify, type Sync } from '../../api/client.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { SYNC_MEMBERS } from '../../domain/syncs/sync-members.ts';
import type { CommandContext, ProcessIo } from '../core/command-context.ts';
import { nearestOf } from '../core/nearest.ts';
import { readText } from '../core/read-input.ts';
import { printable } from '../core/table.ts';
import { listSyncEnds, resolveEnd, type SyncEnds } from './sync-ends.ts';
import { definitionOf, listSyncs } from './sync-record.ts';

export type PlannedSync = {
  name: string;
  /** Includes everything that the file leaves out. */
  definition: BodyOf<'createSync'>;
  existing: Sync | null;
  changes: Change[];
};

export type SyncPlan = { syncs: PlannedSync[]; onlyOnServer: Sync[] };

/** Plans the changes. Refuses all files, naming every fault, unless each sync is valid. */
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

/** Plans one sync. Returns null if it has faults, which are added to the problems. */
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

function inOrder(problems: Problem[]): string[] {
  const files = [...new Set(problems.map(({ place }) => place.file))];
  const byPlace = problems.toSorted(
    ({ place: one }, { place: other }) =>
      files.indexOf(one.file) - files.indexOf(other.file) || one.line - other.line || one.column - other.column,
  );
  return byPlace.map(({ place, message }) => printable(`${sayPlace(place)}: ${message}`));
}

/** Replaces names by identifiers. Leaves values that are no texts to the server. */
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

type SyncDocument = {
  /** Empty if it is missing, which is reported. */
  name: string;
  body: Record<string, unknown>;
  where(path: Path): Place;
};

/** Line and column count from 1. */
type Place = { file: string; line: number; column: number };
type Problem = { place: Place; message: string };

type Parsed = Document.Parsed<ParsedNode, true>;

function sayPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

async function readSyncFile(io: Pick<ProcessIo, 'stdin'>, path: string, problems: Problem[]): Promise<SyncDocument[]> {
  const file = path === '-' ? 'standard input' : path;
  const content = await readText(io, path);
  const lines = new LineCounter();
  const at = (offset: number) => {
    const { line, col: column } = lines.linePos(offset);
    return { file, line, column };
  };
  // An empty document, as after a last ---, is ignored; a file without others is a fault.
  const documents = parseAllDocuments(content, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
  }) as Parsed[];
  const filled = documents.filter(
    ({ contents, errors }) => contents !== null && (errors.length > 0 || !isNothing(contents)),
  );
  if (filled.length === 0) problems.push({ place: at(0), message: 'has no sync' });
  return filled.flatMap((document) => readDocument(document, at, problems));
}

function isNothing(node: ParsedNode): boolean {
  return isScalar(node) && node.value === null;
}

function readDocument(document: Parsed, at: (offset: number) => Place, problems: Problem[]): SyncDocument[] {
  const errors = [...document.errors, ...document.warnings];
  problems.push(...errors.map(({ pos, message }) => ({ place: at(pos[0]), message })));
  if (errors.length > 0) return [];
  problems.push(...unfitNumbers(document, at));
  const where = (path: Path) => at(offsetOf(document, path));
  const body = toObject(document);
  if (typeof body === 'string') {
    problems.push({ place: where([]), message: body });
    return [];
  }
  problems.push(...unknownMembers(body).map(({ path, message }) => ({ place: where(path), message })));
  if (typeof body.name === 'string' && body.name.trim() !== '') return [{ name: body.name, body, where }];
  problems.push({ place: where(['name']), message: 'name: is required, in words: a sync is known by it' });
  return [{ name: '', body, where }];
}

function toObject(document: Parsed): Record<string, unknown> | string {
  if (!isMap(document.contents)) return 'is no sync: write its members as name: …, source: …, destination: …';
  try {
    return document.toJS() as Record<string, unknown>;
  } catch (error) {
    return (error as Error).message; // an alias without its anchor, or too many of them
  }
}

/** Finds infinities, which JSON lacks, and numbers that a double would change. */
function unfitNumbers(document: Parsed, at: (offset: number) => Place): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Scalar(_, { value, range }) {
      if (typeof value !== 'number' || (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)))
        return;
      problems.push({ place: at(range![0]), message: "this number can't be sent as it is: put it in quotes" });
    },
  });
  return problems;
}

/** Returns the offset of a member's name or an element; for a missing one, that of its parent. */
function offsetOf(document: Parsed, path: Path): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range[0] ?? 0;
  for (const step of path) {
    const parent = isAlias(node) ? node.resolve(document) : node;
    if (isMap<{ value: unknown; range: [number] }>(parent)) {
      const pair = parent.items.find(({ key }) => key.value === step);
      if (!pair) break;
      [offset, node] = [pair.key.range[0], pair.value];
    } else if (isSeq<{ range: [number] }>(parent) && parent.items[Number(step)]) {
      node = parent.items[Number(step)]!;
      offset = parent.items[Number(step)]!.range[0];
    } else {
      break;
    }
  }
  return offset;
}

export type Path = (string | number)[];

function unknownMembers(value: unknown, path: Path = []): { path: Path; message: string }[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => unknownMembers(element, [...path, index]));
  const place = path.filter((step) => typeof step === 'string').join('.');
  if (typeof value !== 'object' || value === null || !Object.hasOwn(SYNC_MEMBERS, place)) return [];
  const known: readonly string[] = SYNC_MEMBERS[place as keyof typeof SYNC_MEMBERS];
  return Object.entries(value).flatMap(([member, inner]) => {
    const at = [...path, member];
    if (known.includes(member)) return unknownMembers(inner, at);
    return [{ path: at, message: `${sayPath(at)}: is unknown${nearestOf(member, known)}` }];
  });
}

function sayPath(path: Path): string {
  return path.join('.');
}

function parsePath(element: string): Path {
  return element.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

type Change = { path: string; before: unknown; after: unknown };

/** Returns the differences between two JSON values, by the innermost members that both have. */
function changesBetween(before: unknown, after: unknown, path: Path = []): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) => changesBetween(before[index], after[index], [...path, index])).flat();
  }
  if (!isObject(before) || !isObject(after)) return [{ path: sayPath(path), before, after }];
  const members = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...members].flatMap((member) => changesBetween(before[member], after[member], [...path, member]));
}

export function sayValueChange(name: string, before: unknown, after: unknown): string {
  return `${name}: ${sayValue(before)} → ${sayValue(after)}`;
}

function sayValue(value: unknown): string {
  return value === null || value === undefined ? '(nothing)' : stringify(value);
}

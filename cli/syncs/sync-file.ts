/** Reads syncs from YAML files, with the position of each member for messages. */
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
import type { ProcessIo } from '../core/command-context.ts';
import { readText } from '../core/read-text.ts';
import { type Path, unknownMembers } from './sync-members.ts';

/** A sync in a file. */
export type SyncDocument = {
  /** Empty if it is missing, which is reported. */
  name: string;
  body: Record<string, unknown>;
  /** Returns the position of a member, or of the nearest one. */
  where(path: Path): Place;
};

/** Line and column count from 1. */
export type Place = { file: string; line: number; column: number };
export type Problem = { place: Place; message: string };

type Parsed = Document.Parsed<ParsedNode, true>;

/** Returns `file:line:column`, as editors and terminals use it. */
export function sayPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** Reads the syncs of a YAML file, or standard input for `-`, and adds faults to `problems`. */
export async function readSyncFile(
  io: Pick<ProcessIo, 'stdin'>,
  path: string,
  problems: Problem[],
): Promise<SyncDocument[]> {
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

/** Returns the document as an object, or why it is none. */
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

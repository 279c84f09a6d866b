/** Operations as a client calls them, a few lines of text each: lets a client start without loading their schemas. */
import type { Right } from '../../domain/accounts/rights.ts';
import type { Operation } from './operation.ts';

export type CalledOperation = Pick<
  Operation,
  'id' | 'method' | 'path' | 'auth' | 'rights' | (typeof OPTIONAL)[number]
> & {
  /** A call may write entries into the audit log. */
  isAudited: boolean;
};

/** On lines of their own, indented, as `name=key:right,key:right`. */
const BY_KEY = ['rightsByType', 'rightsByField'] as const;
const OPTIONAL = [
  'bare',
  'isProbe',
  'isFollowed',
  'contentType',
  'idempotencyKey',
  'uploadPart',
  'role',
  ...BY_KEY,
] as const;

/** Returns whether a call may write into the audit log. With `secrets=false` it shows none, and writes nothing. */
export function isLook({ isAudited }: CalledOperation, query: Readonly<Record<string, unknown>> = {}): boolean {
  return isAudited && String(query['secrets']) !== 'false';
}

/**
 * Returns the rights that a call needs for an object: a body or query, or the record that the call is about. Without
 * one, the rights that each call of the operation needs.
 */
export function rightsFor(
  { rights, rightsByType = {}, rightsByField = {} }: Pick<CalledOperation, 'rights' | (typeof BY_KEY)[number]>,
  object: object = {},
): Right[] {
  const { type } = object as { type?: unknown };
  const byType = typeof type === 'string' && Object.hasOwn(rightsByType, type) ? [rightsByType[type]!] : [];
  const byField = Object.entries(rightsByField).flatMap(([field, right]) => (hasField(object, field) ? [right] : []));
  return [...new Set([...rights, ...byType, ...byField])];
}

/** Returns whether an object has a field, as `settings.endpoint`, or one that begins so, as `breakdown=detail.*`. */
function hasField(object: object, field: string): boolean {
  const [path, pattern = '*'] = field.split('=') as [string, string?];
  const value = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], object);
  if (value === undefined || value === null) return false;
  return pattern === '*' || (typeof value === 'string' && value.startsWith(pattern.slice(0, -1)));
}

export function calledOperations(contract: object): CalledOperation[] {
  return Object.values(contract)
    .filter(isOperation)
    .map(({ id, method, path, auth, rights, audits, ...rest }) => ({
      id,
      method,
      path,
      auth,
      rights,
      isAudited: audits.length > 0,
      ...Object.fromEntries(OPTIONAL.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name]]]))),
    }));
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value && 'path' in value;
}

/** Reads an operation from its text: id, method, path and credentials, then other members as `name=value`. */
export function readOperation(text: string): CalledOperation {
  const [id, method, path, auth, ...rest] = text.replaceAll(/,\s+/g, ',').split(/\s+/);
  const {
    rights = '',
    audited,
    ...members
  } = Object.fromEntries(rest.map((member) => splitAt(member, member.indexOf('=')))) as Record<string, string>;
  return {
    id,
    method,
    path,
    auth,
    rights: rights === '' ? [] : rights.split(','),
    isAudited: audited === 'true',
    ...Object.fromEntries(Object.entries(members).map(([name, value]) => [name, readMember(name, value)])),
  } as CalledOperation;
}

function readMember(name: string, value: string): unknown {
  if (!isByKey(name)) return value === 'true' || value;
  return Object.fromEntries(value.split(',').map((each) => splitAt(each, each.lastIndexOf(':'))));
}

const isByKey = (name: string): boolean => (BY_KEY as readonly string[]).includes(name);
const splitAt = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at + 1)];

function textOf({ id, method, path, auth, rights, isAudited, ...rest }: CalledOperation): string {
  const members = {
    ...(rights.length === 0 ? {} : { rights: rights.join(',') }),
    ...(isAudited ? { audited: true } : {}),
    ...rest,
  };
  const shown = Object.entries(members).map(
    ([name, value]) => `${isByKey(name) ? '\n  ' : ' '}${name}=${showMember(name, value)}`,
  );
  return `${id} ${method} ${path} ${auth}${shown.join('')}`;
}

function showMember(name: string, value: unknown): string {
  if (!isByKey(name)) return String(value);
  const rights = Object.entries(value as object).map(([key, right]) => `${key}:${right}`);
  return rights.join(rights.length > 3 ? ',\n    ' : ',');
}

/** Writes the operations as a module, so that a client loads no schema. */
export function calledOperationsModule(contract: object): string {
  return [
    "import { readOperation } from './called-operation.ts';",
    '',
    '/**',
    ' * Each operation as a client calls it. Made by `npm run docs` from the operations themselves, whose schemas cost time',
    ' * to load.',
    ' */',
    'export const CALLED_OPERATIONS = `',
    ...calledOperations(contract).map(textOf),
    '`',
    '  .trim()',
    String.raw`  .split(/\n(?! )/)`,
    '  .map(readOperation);',
    '',
  ].join('\n');
}

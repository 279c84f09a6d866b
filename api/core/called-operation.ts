/** Operations as a client calls them, one line each: lets a client start without loading their schemas. */
import type { Operation } from './operation.ts';

export type CalledOperation = Pick<
  Operation,
  'id' | 'method' | 'path' | 'auth' | 'rights' | (typeof OPTIONAL)[number]
> & {
  /** A call may write entries into the audit log. */
  isAudited: boolean;
};

const OPTIONAL = ['bare', 'isProbe', 'contentType', 'idempotencyKey', 'uploadPart', 'role'] as const;

/** Returns whether a call may write into the audit log. With `secrets=false` it shows none, and writes nothing. */
export function isLook({ isAudited }: CalledOperation, query: Readonly<Record<string, unknown>> = {}): boolean {
  return isAudited && String(query['secrets']) !== 'false';
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

/** Reads an operation from its line: id, method, path and credentials, then other members as `name=value`. */
export function readLine(line: string): CalledOperation {
  const [id, method, path, auth, ...rest] = line.split(' ');
  const {
    rights = '',
    audited,
    ...members
  } = Object.fromEntries(rest.map((member) => member.split('=') as [string, string])) as Record<string, string>;
  return {
    id,
    method,
    path,
    auth,
    rights: rights === '' ? [] : rights.split(','),
    isAudited: audited === 'true',
    ...Object.fromEntries(Object.entries(members).map(([name, value]) => [name, value === 'true' || value])),
  } as CalledOperation;
}

function lineOf({ id, method, path, auth, rights, isAudited, ...rest }: CalledOperation): string {
  const members = {
    ...(rights.length === 0 ? {} : { rights: rights.join(',') }),
    ...(isAudited ? { audited: true } : {}),
    ...rest,
  };
  return [id, method, path, auth, ...Object.entries(members).map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** Writes the operations as a module, so that a client loads no schema. */
export function calledOperationsModule(contract: object): string {
  return [
    "import { readLine } from './called-operation.ts';",
    '',
    '/**',
    ' * Each operation as a client calls it. Made by `npm run docs` from the operations themselves, whose schemas cost time',
    ' * to load.',
    ' */',
    'export const CALLED_OPERATIONS = `',
    ...calledOperations(contract).map(lineOf),
    '`',
    '  .trim()',
    "  .split('\\n')",
    '  .map(readLine);',
    '',
  ].join('\n');
}

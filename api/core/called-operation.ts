/** Operations as a client calls them, one line each: lets a client start without loading their schemas. */
import type { Operation } from './operation.ts';

export type CalledOperation = Pick<Operation, 'id' | 'method' | 'path' | 'auth' | (typeof OPTIONAL)[number]>;

const OPTIONAL = ['bare', 'contentType', 'idempotencyKey', 'uploadPart'] as const;

export function calledOperations(contract: object): CalledOperation[] {
  return Object.values(contract)
    .filter(isOperation)
    .map(({ id, method, path, auth, ...rest }) => ({
      id,
      method,
      path,
      auth,
      ...Object.fromEntries(OPTIONAL.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name]]]))),
    }));
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value && 'path' in value;
}

/** Reads an operation from its line: id, method, path and credentials, then optional members as `name=value`. */
export function readLine(line: string): CalledOperation {
  const [id, method, path, auth, ...rest] = line.split(' ');
  const members = rest
    .map((member) => member.split('=') as [string, string])
    .map(([name, value]) => [name, value === 'true' || value]);
  return { id, method, path, auth, ...Object.fromEntries(members) } as CalledOperation;
}

function lineOf({ id, method, path, auth, ...rest }: CalledOperation): string {
  return [id, method, path, auth, ...Object.entries(rest).map(([name, value]) => `${name}=${value}`)].join(' ');
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

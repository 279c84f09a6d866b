import type { Operation } from './operation.ts';

/** What a client has to know of an operation to call it. */
export type CalledOperation = Pick<Operation, 'id' | 'method' | 'path' | 'auth' | (typeof OPTIONAL)[number]>;

const OPTIONAL = ['bare', 'contentType', 'idempotencyKey', 'uploadPart'] as const;

/** Returns that of each operation among the exports of the contract. */
export function calledOperations(contract: object): CalledOperation[] {
  return Object.values(contract).filter(isOperation).map(({ id, method, path, auth, ...rest }) => ({
    id, method, path, auth, ...Object.fromEntries(OPTIONAL.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name]]]))),
  }));
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value && 'path' in value;
}

/** Writes them as a module, so that a client loads no schema. */
export function calledOperationsModule(contract: object): string {
  const lines = calledOperations(contract).map((operation) => `  ${literal(operation)},`);
  return [
    "import type { CalledOperation } from './core/called-operation.ts';", '',
    "export type { CalledOperation } from './core/called-operation.ts';", '',
    '/** Each operation as a client calls it. Made by `npm run docs` from the operations themselves, whose schemas cost time to load. */',
    'export const CALLED_OPERATIONS: readonly CalledOperation[] = [', ...lines, '];', '',
  ].join('\n');
}

function literal(operation: CalledOperation): string {
  const members = Object.entries(operation).map(([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`);
  const line = `{ ${members.join(', ')} }`;
  return line.length < 116 ? line : `{\n    ${members.slice(0, 2).join(', ')},\n    ${members.slice(2).join(', ')},\n  }`;
}

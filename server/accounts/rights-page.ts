/** Writes docs/rights.md from the operations: the rights that each needs. */
import type { Operation, Role } from '../../api/core/operation.ts';
import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';

const ROLES: Record<Role, string> = {
  person: 'any user who has logged in; no service token',
  admin: 'admins of the entity',
  superadmin: 'superadmins',
};

const INTRODUCTION = `# Rights

Made from the operations by \`npm run docs\`: change it there, not here.

A token acts in one entity, and a membership says what its user may do there: the flags of \`enable\`, and \`admin\`. A
superadmin has every right, and is an admin, in each entity of theirs. A service token has those of its rights
that its creator has at the time of the call; it is never an admin. Rights are looked up with every request: a change takes
effect at once. Admins [manage users and rights](users.md) by \`/api/users\`, and give and take only rights that they have themselves.

The last column names what a call writes into the audit log: its \`action\` and \`subject_kind\` there. A read that shows nothing
secret may write none.`;

export function rightsPage(operations: readonly Operation[]): string {
  return [
    INTRODUCTION,
    '## What each flag allows',
    ...flagTable(operations),
    '## What needs a role instead',
    ...roleTables(operations),
    '## What needs neither',
    ...openTable(operations),
  ]
    .join('\n\n')
    .concat('\n');
}

function flagTable(operations: readonly Operation[]): string[] {
  const allowed = RIGHTS.filter((right) => operations.some((operation) => rightsOf(operation).includes(right)));
  const rows = allowed.flatMap((right) =>
    operations
      .filter((operation) => rightsOf(operation)[0] === right)
      .map((operation) => [rightsNeeded(operation), nameOf(operation), operation.summary, auditedAs(operation)]),
  );
  const idle = RIGHTS.filter((right) => !allowed.includes(right)).map((right) => `\`${right}\``);
  const table = toTable(['right', 'call', 'does', 'audited as'], rows);
  return idle.length === 0
    ? [table]
    : [table, `These can be given, and nothing asks for them yet: ${idle.join(', ')}.`];
}

function rightsOf({ rights, rightsByType = {}, rightsByField = {} }: Operation): Right[] {
  return [...rights, ...Object.values(rightsByType), ...Object.values(rightsByField)];
}

function rightsNeeded({ rights, rightsByType = {}, rightsByField = {} }: Operation): string {
  const byType = Object.entries(rightsByType).map(([type, right]) => `for a ${type} one \`${right}\``);
  const byField = Object.entries(rightsByField).map(([field, right]) => `with \`${field}\` \`${right}\``);
  return [rights.map((right) => `\`${right}\``).join(' and '), ...byType, ...byField].filter(Boolean).join(', ');
}

function roleTables(operations: readonly Operation[]): string[] {
  const rows = (['admin', 'superadmin', 'person'] as const).flatMap((role) =>
    operations
      .filter((operation) => operation.role === role)
      .map((operation) => [ROLES[role], nameOf(operation), operation.summary, auditedAs(operation)]),
  );
  return [toTable(['who', 'call', 'does', 'audited as'], rows)];
}

function openTable(operations: readonly Operation[]): string[] {
  const by = {
    token: 'any token',
    sor_key: 'the key of the System of Records',
    app_key: 'an API key of the app',
    none: 'nothing',
  };
  const rows = operations
    .filter((operation) => rightsOf(operation).length === 0 && !operation.role)
    .map((operation) => [by[operation.auth], nameOf(operation), operation.summary, auditedAs(operation)]);
  return [toTable(['opened by', 'call', 'does', 'audited as'], rows)];
}

function auditedAs({ audits }: Operation): string {
  return audits.map((each) => `\`${each}\``).join(', ');
}

function nameOf({ method, path }: Operation): string {
  return `\`${method} ${path.replaceAll(/:(\w+)/g, '<$1>')}\``;
}

function toTable(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

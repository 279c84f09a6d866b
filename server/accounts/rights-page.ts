import type { Role } from '../../api/core/operation.ts';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import type { Route } from '../http/route.ts';

const ROLES: Record<Role, string> = {
  person: 'any user who has logged in; no service token',
  admin: 'admins of the entity',
  superadmin: 'superadmins',
};

const INTRODUCTION = `# Rights

Made from the routes by \`npm run docs\`: change it there, not here.

A token acts in one entity, and a membership says what its user may do there: the flags of \`enable\`, and \`admin\`. A
superadmin has every right, and is an admin, in each entity of theirs. A service token has those of its rights
that its creator has at the time of the call; it is never an admin. Rights are looked up with every request: a change takes
effect at once. Admins [manage users and rights](users.md) by \`/api/users\`, and give and take only rights that they have themselves.`;

/** The documentation of who may call what, in Markdown. */
export function rightsPage(routes: readonly Route[]): string {
  return [
    INTRODUCTION,
    '## What each flag allows', ...flagTable(routes),
    '## What needs a role instead', ...roleTables(routes),
    '## What needs neither', ...openTable(routes),
  ].join('\n\n').concat('\n');
}

function flagTable(routes: readonly Route[]): string[] {
  const allowed = RIGHTS.filter((right) => routes.some(({ rights }) => rights.includes(right)));
  const rows = allowed.flatMap((right) => routes.filter(({ rights }) => rights.includes(right)).map((route) => {
    const others = route.rights.filter((other) => other !== right);
    return [[right, ...others].map((each) => `\`${each}\``).join(' and '), nameOf(route), route.summary];
  }));
  const idle = RIGHTS.filter((right) => !allowed.includes(right)).map((right) => `\`${right}\``);
  const table = toTable(['right', 'route', 'does'], rows);
  return idle.length === 0 ? [table] : [table, `These can be given, and nothing asks for them yet: ${idle.join(', ')}.`];
}

function roleTables(routes: readonly Route[]): string[] {
  const rows = (['admin', 'superadmin', 'person'] as const).flatMap((role) => routes.filter((route) => route.role === role)
    .map((route) => [ROLES[role], nameOf(route), route.summary]));
  return [toTable(['who', 'route', 'does'], rows)];
}

function openTable(routes: readonly Route[]): string[] {
  const by = { token: 'any token', sor_key: 'the key of the System of Records', app_key: 'an API key of the app', none: 'nothing' };
  const rows = routes.filter(({ rights, role }) => rights.length === 0 && !role)
    .map((route) => [by[route.auth], nameOf(route), route.summary]);
  return [toTable(['opened by', 'route', 'does'], rows)];
}

function nameOf({ method, path }: Route): string {
  return `\`${method} ${path.replaceAll(/:(\w+)/g, '<$1>')}\``;
}

function toTable(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

import { call, type Server } from '../core/client.ts';
import { table } from '../core/table.ts';

/** A request as the server shows it. */
export type GdprView = {
  request_id: string;
  type: 'access' | 'delete';
  source: string;
  state: 'waiting' | 'accepted' | 'running' | 'treated' | 'declined';
  requested_at: string;
  treated_at: string | null;
  expires_at: string | null;
  progress: { stage: string | null; erased: Record<string, number>; survivors: Record<string, number>; fault: string | null };
  waiting: Record<string, string>;
  /** By user id. */
  download_urls?: Record<string, string | null>;
  user_ids?: Record<string, string | null>;
};

/** The argument of commands about a request. */
export const REQUEST = ['<request>', 'as `millrace gdpr requests` shows it'] as const;

export function gdprPath(request: string): string {
  return `/api/gdpr/requests/${encodeURIComponent(request)}`;
}

export function viewGdpr(server: Server, request: string): Promise<GdprView> {
  return call<GdprView>(server, 'GET', gdprPath(request));
}

/** Nothing more comes of it, or not by itself. */
export function isOver({ state }: GdprView): boolean {
  return state === 'treated' || state === 'declined';
}

export function peopleOf({ download_urls: urls, user_ids: states }: GdprView): [string, string | null][] {
  return Object.entries(urls ?? states ?? {});
}

export function progressOf(view: GdprView): string {
  const people = peopleOf(view);
  const held = Object.keys(view.waiting).length;
  const done = `${people.filter(([, state]) => state !== null).length} of ${people.length} people`;
  const { stage, fault } = view.progress;
  return [done, ...held > 0 ? [`${held} on hold`] : [], ...stage === null ? [] : [stage], ...fault === null ? [] : [fault]].join(', ');
}

export function reportGdpr(view: GdprView): string {
  const { request_id: id, type, source, state, requested_at: at, treated_at: treated, expires_at: expires, progress, waiting } = view;
  const title = `${type === 'access' ? 'data' : 'deletion'} asked for ${at.slice(0, 19)}Z (${source})`;
  const ends = treated === null ? '' : `, treated ${treated.slice(0, 19)}Z`;
  const people = peopleOf(view).map(([who, how]) => [who, waiting[who] ?? how ?? undecided(view)]);
  return [
    `${id}: ${state}, ${title}${ends}${expires === null ? '' : `, shown until ${expires.slice(0, 19)}Z`}`,
    ...progress.stage === null ? [] : [`at: ${progress.stage}`],
    ...progress.fault === null ? [] : [`kept by: ${progress.fault}`],
    ...countLines('erased', progress.erased), ...countLines('still found', progress.survivors),
    '', table(['person', 'how it stands'], people),
  ].join('\n');
}

/** How somebody stands of whom nothing is told yet. */
function undecided({ state }: GdprView): string {
  if (state === 'declined') return 'declined: nothing was done';
  return state === 'waiting' ? 'waits for approval' : 'pending';
}

function countLines(name: string, counts: Record<string, number>): string[] {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? [] : [`${name}: ${some.map(([place, count]) => `${place} ${count}`).join(', ')}`];
}

/** Prints requests of people and their states. */
import type { Client, GdprRequest } from '../../api/client.ts';
import { printable, table } from '../core/table.ts';
import { internalErrorLines } from '../jobs/say-internal-error.ts';

export const REQUEST = ['<request>', 'as `millrace gdpr requests` shows it'] as const;

export function viewGdpr(client: Client, request: string): Promise<GdprRequest> {
  return client.viewGdprRequest({ params: { request_id: request } });
}

/** Returns whether the request has ended. */
export function isOver({ state }: GdprRequest): boolean {
  return state === 'treated' || state === 'declined';
}

export function peopleOf({ download_urls: urls, user_ids: states }: GdprRequest): [string, string | null][] {
  return Object.entries(urls ?? states ?? {});
}

export function progressOf(view: GdprRequest): string {
  const people = peopleOf(view);
  const held = Object.keys(view.waiting).length;
  const done = `${people.filter(([, state]) => state !== null).length} of ${people.length} people`;
  const { stage, fault } = view.progress;
  const isHeld = held > 0 ? [`${held} on hold`] : [];
  return [done, ...isHeld, ...(stage === null ? [] : [stage]), ...(fault === null ? [] : [fault.reason])].join(', ');
}

export function reportGdpr(view: GdprRequest, width: number | null): string {
  const {
    request_id: id,
    type,
    source,
    state,
    requested_at: at,
    treated_at: treated,
    expires_at: expires,
    progress,
    waiting,
  } = view;
  const title = `${type === 'access' ? 'data' : 'deletion'} asked for ${at.slice(0, 19)}Z (${source})`;
  const ends = treated === null ? '' : `, treated ${treated.slice(0, 19)}Z`;
  const people = peopleOf(view).map(([who, how]) => [who, waiting[who] ?? how ?? undecided(view)]);
  return [
    `${id}: ${state}, ${title}${ends}${expires === null ? '' : `, shown until ${expires.slice(0, 19)}Z`}`,
    ...(progress.stage === null ? [] : [`at: ${progress.stage}`]),
    ...progress.faults.flatMap(({ since, reason, what_to_do: toDo }) => [
      `kept since ${since.slice(0, 19)}Z: ${reason}`,
      `  ${toDo}`,
    ]),
    ...internalErrorLines(progress.internal_error),
    ...countLines('an approval erases', view.would_erase ?? {}),
    ...countLines('erased', progress.erased),
    ...countLines('still found', progress.survivors),
    ...(view.kept_values ?? []).map(({ place, object, key, values }) =>
      place === 'outbox/'
        ? `kept: ${object}, which is no mail`
        : place === 'gdpr_holds'
          ? `kept: the reason of hold ${object}, which names an id`
          : `kept: values of ${key ?? 'a key'} in ${object} that are the same as an id: ${values}`,
    ),
    ...similarLines(view.similar_ids),
    '',
    table(['person', 'how it stands'], people, width),
  ].join('\n');
}

/** Warns of users who may be the same people under other ids; returns nothing if there are none. */
export function similarLines(similar: GdprRequest['similar_ids']): string[] {
  const lines = Object.entries(similar).map(
    ([asked, others]) => `similar to ${printable(asked)}: ${others.map(printable).join(', ')}`,
  );
  return lines.length === 0
    ? []
    : [
        ...lines,
        '  These ids differ only in capitals or composed letters. The request leaves them alone: if they are the same person, make a ' +
          'request for them as well.',
      ];
}

/** Describes a person without a result yet. */
function undecided({ state }: GdprRequest): string {
  if (state === 'declined') return 'declined: nothing was done';
  return state === 'waiting' ? 'waits for approval' : 'pending';
}

/** Null means not counted. */
function countLines(name: string, counts: Record<string, number | null>): string[] {
  const some = Object.entries(counts).filter(([, count]) => count !== 0);
  return some.length === 0
    ? []
    : [`${name}: ${some.map(([place, count]) => `${place} ${count ?? 'not counted'}`).join(', ')}`];
}

/** Ids of people as links to their page. The id stands in the fragment, which no server and no log gets. */
import { Link } from '@tanstack/react-router';
import { Id } from './values.tsx';

const KINDS = ['user_id', 'device_id'] as const;

export type PersonId = { kind: (typeof KINDS)[number]; id: string };

export const PEOPLE_PATH = '/people';

/** Returns the fragment that names a person, or a text to search for. */
export function fragmentOf(kind: PersonId['kind'] | 'find', id: string): string {
  return new URLSearchParams({ [kind]: id }).toString();
}

/** Returns the person that a fragment names. */
export function personOf(fragment: URLSearchParams): PersonId | null {
  const kind = KINDS.find((each) => fragment.get(each));
  return kind === undefined ? null : { kind, id: fragment.get(kind)! };
}

const WORDS = { user_id: 'Person', device_id: 'Device', find: 'Find' };

/** Shows an id, and leads to the person. Without `kind` it leads to the search. */
export function PersonLink({ kind = 'find', id }: { kind?: PersonId['kind'] | 'find'; id: string }) {
  return (
    <span className="person">
      <Id value={id} />
      <Link to={PEOPLE_PATH} hash={fragmentOf(kind, id)}>
        {WORDS[kind]}
        <span className="sr"> {id}</span>
      </Link>
    </span>
  );
}

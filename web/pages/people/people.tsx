/** Finds one person by an id or a value, and shows the person that the fragment names. There is no list of people. */
import { Link, useLocation } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { FoundPerson } from '../../../api/client.ts';
import type { PersonMatch } from '../../../domain/analytics/person.ts';
import { PERSON_PARTS } from '../../../domain/analytics/person.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { fragmentOf, PEOPLE_PATH, type PersonId, personOf } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { forgetReads, type ResultOf, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { PersonPage } from './person.tsx';

export function People() {
  const fragment = new URLSearchParams(useLocation().hash);
  const person = personOf(fragment);
  const [asked, setAsked] = useState({ text: '', times: 0 });
  // The press on a person who was found asks for the look; a link from elsewhere does not.
  const [pressed, setPressed] = useState<string | null>(null);
  if (person) {
    const key = fragmentOf(person.kind, person.id);
    return <PersonPage key={key} person={person} isAsked={pressed === key} />;
  }
  return (
    <Finder
      key={fragment.get('find')}
      start={fragment.get('find') ?? asked.text}
      asked={asked}
      onFind={(text) => {
        forgetReads('findPeople');
        setAsked({ text, times: asked.times + 1 });
      }}
      onPress={setPressed}
    />
  );
}

type FinderProps = {
  /** The text that the field begins with. */
  start: string;
  asked: { text: string; times: number };
  onFind: (text: string) => void;
  onPress: (fragment: string | null) => void;
};

function Finder({ start, asked, onFind, onPress }: FinderProps) {
  useEffect(() => onPress(null), [onPress]);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onFind(textOf(event.currentTarget, 'text'));
  };
  return (
    <>
      <Head title="People" facts={<span>One at a time: there is no list of everybody.</span>} />
      <div className="cols">
        <div className="stack">
          <Panel title="Find a person">
            <form className="body" onSubmit={send}>
              <div className="field">
                <label htmlFor="person-text">User id, device id, or the value of an attribute</label>
                <input
                  className="input mono"
                  id="person-text"
                  name="text"
                  data-filter
                  autoComplete="off"
                  spellCheck={false}
                  defaultValue={start}
                  aria-describedby="person-hint"
                  required
                />
                <span className="hint" id="person-hint">
                  The whole id or value, such as an e-mail.
                </span>
              </div>
              <p className="second">
                <Icon name="eye" /> A search is written into the audit log, with the people found and without the text.
              </p>
              <div>
                <button type="submit" className="btn main">
                  Find
                </button>
              </div>
            </form>
          </Panel>
          {asked.times > 0 && <Found key={asked.times} text={asked.text} onPress={onPress} />}
        </div>
        <aside className="stack">
          <AsCommand
            operation="findPeople"
            body={{ text: '<id or value>' }}
            cli={['millrace people find <id or value>']}
            manual="reading"
          />
        </aside>
      </div>
    </>
  );
}

const BY_ID: PersonMatch[] = ['user_id', 'device_id', 'similar_id'];

/** Looks for ids first, which takes no time, then for values: by itself if no id was found. */
function Found({ text, onPress }: { text: string; onPress: FinderProps['onPress'] }) {
  const { session } = useSession();
  const [isMore, setMore] = useState(false);
  const mayReadValues = session.enable[PERSON_PARTS.attributes];
  const byId = useRead('findPeople', { body: { text, match: BY_ID } });
  const ids = byId.data?.people ?? [];
  const isWanted = mayReadValues && byId.isSuccess && (ids.length === 0 || isMore);
  const byValue = useRead('findPeople', { body: { text, match: ['attribute'] } }, { isWanted });
  return (
    <Panel title="Found">
      <Shown result={byId}>
        {(found) => (
          <>
            {found.people.length > 0 && <FoundPeople text={text} found={found} onPress={onPress} />}
            {isWanted ? (
              <Shown result={byValue}>
                {(values) =>
                  values.people.length > 0 ? (
                    <FoundPeople text={text} found={values} onPress={onPress} />
                  ) : (
                    <NoPerson text={text} found={values} hasIds={ids.length > 0} />
                  )
                }
              </Shown>
            ) : (
              <footer>
                {mayReadValues ? (
                  <button type="button" className="btn plain" onClick={() => setMore(true)}>
                    Search the values of attributes, too (one more entry)
                  </button>
                ) : (
                  <span>Values of attributes are not searched. {sayMissing([PERSON_PARTS.attributes])}.</span>
                )}
              </footer>
            )}
            {!mayReadValues && found.people.length === 0 && <NoPerson text={text} found={found} hasIds={false} />}
          </>
        )}
      </Shown>
    </Panel>
  );
}

type Matches = Pick<ResultOf<'findPeople'>, 'people' | 'more' | 'left_out'>;

const FOUND_BY: Record<PersonMatch, string> = {
  user_id: 'user id',
  device_id: 'device id',
  similar_id: 'similar id: it differs in capitals or composed letters',
  attribute: 'value',
};

function FoundPeople({ text, found, onPress }: { text: string; found: Matches; onPress: FinderProps['onPress'] }) {
  const { people, more } = found;
  const isOfTwo = people.filter((person) => (person.user_id ?? person.device_id) === text).length > 1;
  return (
    <>
      {isOfTwo && (
        <p className="note warn">
          This is a user id and a device id. They may be different people: each has a page of its own.
        </p>
      )}
      <DataTable
        caption="People found"
        columns={[
          { title: 'Id', cell: (person) => <OpenLink person={idOf(person)} onPress={onPress} /> },
          { title: 'Kind', cell: ({ user_id }) => <Chip tone="neutral">{user_id === null ? 'device' : 'user'}</Chip> },
          { title: 'Found by', cell: ({ matches }) => <FoundBy matches={matches} /> },
        ]}
        rows={people}
        keyOf={(person) => fragmentOf(idOf(person).kind, idOf(person).id)}
        empty={null}
      />
      <footer>
        <span>
          <Icon name="eye" /> Opening a person writes one entry into the audit log.
        </span>
        {more && <span>More people match than the {people.length} shown: search for an id.</span>}
      </footer>
    </>
  );
}

function idOf({ user_id: user, device_id: device }: FoundPerson): PersonId {
  return user === null ? { kind: 'device_id', id: device ?? '' } : { kind: 'user_id', id: user };
}

function OpenLink({ person: { kind, id }, onPress }: { person: PersonId; onPress: FinderProps['onPress'] }) {
  const hash = fragmentOf(kind, id);
  return (
    <Link to={PEOPLE_PATH} hash={hash} onClick={() => onPress(hash)} className="mono wraps">
      {id}
    </Link>
  );
}

function FoundBy({ matches }: Pick<FoundPerson, 'matches'>) {
  return (
    <ul>
      {matches.map(({ by, sor_id: sor, attribute_key: key }) => (
        <li key={`${by} ${sor} ${key}`}>
          {FOUND_BY[by]}
          {key !== null && (
            <>
              {' '}
              of <code>{key}</code> in <code>{sor}</code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Says that no person was found, and leads to what may be known of an id that is gone. */
function NoPerson({ text, found, hasIds }: { text: string; found: Matches; hasIds: boolean }) {
  const { may } = useSession();
  const reasons = found.left_out.filter(({ right }) => right === null);
  const says =
    reasons[0]?.reason ?? (hasIds ? 'No value of an attribute equals it.' : 'No person has this id or value.');
  const mayKnow = !hasIds && may('listReceiptsOfPerson');
  return (
    <Empty
      says={`${says} Ids and values are compared whole.`}
      action={
        mayKnow && (
          <p className="second">
            Was it erased? Look at it as a{' '}
            <Link to={PEOPLE_PATH} hash={fragmentOf('user_id', text)}>
              user id
            </Link>{' '}
            or a{' '}
            <Link to={PEOPLE_PATH} hash={fragmentOf('device_id', text)}>
              device id
            </Link>
            .
          </p>
        )
      }
    />
  );
}

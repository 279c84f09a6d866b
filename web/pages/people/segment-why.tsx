/** Why a person is in a segment, or is not: each of its filters with whether the person meets it, at one moment. */
import { useState } from 'react';
import type { ExplainedSegment } from '../../../api/client.ts';
import { SelectField } from '../../parts/field.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { type MetElement, metText, type NameOf } from '../analytics/filter-words.ts';
import type { Look } from './tabs.tsx';

/** Asks for a segment, also one that does not have the person, and answers for it under the look of the page. */
export function SegmentWhy({ look }: { look: Look }) {
  const [asked, setAsked] = useState('');
  const segments = useRead('listSegments', { query: {} });
  return (
    <section aria-label="Why in a segment, or not">
      <h3 className="body">Why in a segment, or not</h3>
      <Shown result={segments}>
        {(all) =>
          all.length === 0 ? (
            <Empty says="There is no segment." />
          ) : (
            <div className="body">
              <SelectField label="Segment" value={asked} onChange={({ target }) => setAsked(target.value)}>
                <option value="">Choose one</option>
                {all.map(({ identifier, name, app }) => (
                  <option key={identifier} value={identifier}>
                    {name} ({app})
                  </option>
                ))}
              </SelectField>
              {asked !== '' && (
                <Why
                  key={asked}
                  look={look}
                  segment={asked}
                  nameOf={(id) => all.find(({ identifier }) => identifier === id)?.name ?? id}
                />
              )}
            </div>
          )
        }
      </Shown>
    </section>
  );
}

function Why({ look, segment, nameOf }: { look: Look; segment: string; nameOf: NameOf }) {
  const read = useRead('explainSegment', { body: { ...look, segment_id: segment } });
  return <Shown result={read}>{(explained) => <Explained explained={explained} nameOf={nameOf} />}</Shown>;
}

export function Explained({ explained, nameOf }: { explained: ExplainedSegment; nameOf: NameOf }) {
  const { member, as_of: asOf, found, static: isList, counts_as: person, reason, blocks, operator, at } = explained;
  return (
    <div className="tight" role="status">
      <p className="facts">
        <Chip tone={member ? 'ok' : 'neutral'}>{member ? 'in the segment' : 'not in the segment'}</Chip>
        <span>
          {isList ? 'a list of people, without filters' : asOf === null ? 'not refreshed yet' : 'at its last refresh, '}
          {!isList && asOf !== null && <When at={asOf} />}
        </span>
      </p>
      {found !== null && (
        <p className="facts">
          <Chip tone={found ? 'ok' : 'neutral'}>{found ? 'found now' : 'not found now'}</Chip>
          <span>
            by its filters, <When at={at} />
            {found !== member && ': the next refresh brings the change'}
          </span>
        </p>
      )}
      {reason !== null && <p className="note warn">{reason}.</p>}
      {person !== null && <CountsAs person={person} />}
      {blocks !== null && <Block operator={operator} filters={blocks} nameOf={nameOf} />}
    </div>
  );
}

function CountsAs({
  person: { user_id: user, device_id: device },
}: {
  person: NonNullable<ExplainedSegment['counts_as']>;
}) {
  return (
    <p className="small second">
      The app counts this id as{' '}
      {user === null ? <PersonLink kind="device_id" id={device!} /> : <PersonLink kind="user_id" id={user} />}
    </p>
  );
}

/** Shows the filters of an audience with what a person meets of them. */
export function MetFilters({ operator, filters }: { operator: 'and' | 'or'; filters: MetElement[] }) {
  const mayName = useSession().may('listSegments');
  const segments = useRead('listSegments', { query: {} }, { isWanted: mayName });
  const nameOf: NameOf = (id) => segments.data?.find(({ identifier }) => identifier === id)?.name ?? id;
  return <Block operator={operator} filters={filters} nameOf={nameOf} />;
}

function Block({ operator, filters, nameOf }: { operator: 'and' | 'or'; filters: MetElement[]; nameOf: NameOf }) {
  if (filters.length === 0) return <p className="second">It has no filters: everybody in the app is in it.</p>;
  // A block of one element is that element.
  const [only] = filters;
  if (filters.length === 1 && 'filters' in only!) return <Block {...only} nameOf={nameOf} />;
  return (
    <div className="tight">
      {filters.length > 1 && <p className="small quiet">{operator === 'and' ? 'all of these' : 'one of these'}</p>}
      <ul className="tight">
        {filters.map((each, index) => (
          <li key={`${index} ${each.met}`} className="facts">
            <Chip tone={each.met ? 'ok' : 'warn'}>{each.met ? 'met' : 'not met'}</Chip>
            {'filters' in each ? (
              <Block {...each} nameOf={nameOf} />
            ) : (
              <span className="wraps">
                {metText(each, nameOf)}
                {each.found !== null && <span className="quiet"> · found {each.found}</span>}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

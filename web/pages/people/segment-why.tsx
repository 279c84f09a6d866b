/** Why a person is in a segment, or is not: each of its filters with whether the person meets it, at one moment. */
import { useState } from 'react';
import { type ExplainedSegment, stringify } from '../../../api/client.ts';
import type { FilterPeriod, MetBlock, MetFilter, SegmentFilter } from '../../../domain/analytics/segment-filters.ts';
import { SelectField } from '../../parts/field.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
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

type NameOf = (segment: string) => string;

function Why({ look, segment, nameOf }: { look: Look; segment: string; nameOf: NameOf }) {
  const read = useRead('explainSegment', { body: { ...look, segment_id: segment } });
  return <Shown result={read}>{(explained) => <Explained explained={explained} nameOf={nameOf} />}</Shown>;
}

function Explained({ explained, nameOf }: { explained: ExplainedSegment; nameOf: NameOf }) {
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

type Element = MetFilter | MetBlock;

function Block({ operator, filters, nameOf }: { operator: 'and' | 'or'; filters: Element[]; nameOf: NameOf }) {
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
              <span className="wraps">{textOf(each, nameOf)}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns a filter in words. */
function textOf({ value, options: [options] }: MetFilter, nameOf: NameOf): string {
  const filter = { filter_on: value, ...options } as SegmentFilter;
  switch (filter.filter_on) {
    case 'attributes':
      return `attribute ${filter.attribute_key} ${comparisonText(filter)}`;
    case 'devices':
      return `a device whose ${filter.field.replaceAll('_', ' ')} ${comparisonText(filter)}`;
    case 'events': {
      const { log_name: name, operator, count, match_details: details = [], period } = filter;
      const having = details.length === 0 ? '' : ` with ${details.map((each) => stringify(each)).join(' or ')}`;
      return `event ${name}${having} ${operator.replace('_', ' ')} ${count} ${count === 1 ? 'time' : 'times'}, ${periodText(period)}`;
    }
    case 'segments': {
      const names = filter.segment_identifiers.map(nameOf).join(', ');
      return `${isInText(filter.operator)} ${filter.selection.replace('_', ' ')}: ${names}`;
    }
    case 'funnels': {
      const outcome = filter.outcome === 'completed' ? 'completed' : 'stopped before';
      const step = `step ${filter.step} of the funnel ${filter.funnel_identifier}`;
      return `${isInText(filter.operator)} those who ${outcome} ${step}, ${periodText(filter.period)}`;
    }
    case 'campaigns': {
      const { outcome, campaign_identifiers: campaigns, last_days: days } = filter;
      const of = campaigns === undefined ? 'any campaign of the app' : campaigns.join(' or ');
      return `${isInText(filter.operator)} those who ${outcome} a message of ${of}${days === undefined ? '' : `, ${periodText({ last_days: days })}`}`;
    }
  }
}

const isInText = (operator: 'is_in' | 'is_not_in') => (operator === 'is_in' ? 'in' : 'not in');

const comparisonText = ({ operator, values }: { operator: string; values: string[] }): string =>
  [operator.replaceAll('_', ' '), values.join(operator === 'between' ? ' and ' : ' or ')].join(' ').trim();

const periodText = (period: FilterPeriod): string =>
  'last_days' in period ? `in the last ${period.last_days} days` : `from ${period.from} to ${period.till}`;

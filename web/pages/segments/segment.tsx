/** One segment: who is in it, how many can be reached, who joined and left, and why one person is in it. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ResultOf } from '../../session/calls.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { countText, Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { useNames } from '../analytics/filter-names.ts';
import { readFilters } from '../analytics/filters.ts';
import { sentenceOf } from '../analytics/filter-words.ts';
import { AddPeople } from './add-people.tsx';
import { Changes, Days, People } from './segment-people.tsx';
import { WhyOne } from './segment-why.tsx';
import { isWaiting, SegmentChip } from './segment-state.tsx';

type Viewed = ResultOf<'viewSegment'>;

export function SegmentPage() {
  const { id = '' } = useParams({ strict: false });
  const params = { identifier: id };
  const read = useRead('viewSegment', { params }, { pollWhile: isWaiting });
  return (
    <Shown result={read} head={<Head title="Segment" within={{ title: 'Segments', to: '/segments', name: id }} />}>
      {(segment) => <Whole key={segment.identifier} segment={segment} />}
    </Shown>
  );
}

function Whole({ segment }: { segment: Viewed }) {
  const { identifier, name, static: isList, description, labels, snapshot_at: at, failure, preview } = segment;
  return (
    <>
      <Head
        within={{ title: 'Segments', to: '/segments', name: identifier }}
        title={name}
        state={<SegmentChip segment={segment} />}
        actions={<Actions segment={segment} />}
        facts={
          <>
            {description !== null && <span>{description}</span>}
            {labels.map((label) => (
              <Chip key={label} tone="neutral">
                {label}
              </Chip>
            ))}
            <Id value={identifier} />
          </>
        }
      />
      {failure !== null && (
        <p className="note bad" role="alert">
          <span>
            <b>It could not be computed.</b> {failure}
          </span>
        </p>
      )}
      <div className="cols">
        <div className="stack">
          <Panel title="Who is in it">
            <div className="body">
              <Sentence segment={segment} />
              {preview === null && (
                <p className="second">It compares with a sensitive attribute: its counts need sor_manage.</p>
              )}
              {preview !== null && at === null && <p className="second">Its people are being found.</p>}
            </div>
            {preview !== null && at !== null && <Figures segment={segment} />}
          </Panel>
          {preview !== null && (
            <>
              <Days id={identifier} />
              <Panel title="Who joined and who left">
                <Audited operation="listSegmentChanges" what="who joined and who left">
                  {() => <Changes id={identifier} />}
                </Audited>
              </Panel>
              <Panel title="Its people">
                <Audited operation="listSegmentPeople" what="its people">
                  {() => <People id={identifier} />}
                </Audited>
              </Panel>
            </>
          )}
        </div>
        <div className="stack">
          {isList && <AddPeople id={identifier} />}
          <WhyOne id={identifier} />
          <UsedBy users={segment.used_by} />
          <AsCommand
            operation="viewSegment"
            params={{ identifier }}
            cli={[
              `millrace segments show ${identifier}`,
              `millrace segments people ${identifier}`,
              `millrace segments changes ${identifier}`,
              `millrace segments why ${identifier} c-1815`,
            ]}
            manual="segments"
          />
        </div>
      </div>
    </>
  );
}

function Sentence({ segment: { static: isList, filters } }: { segment: Viewed }) {
  const { nameOf } = useNames();
  if (isList) return <p className="sentence">A list of people: they are added and removed by hand.</p>;
  return <p className="sentence">{sentenceOf(readFilters(filters), nameOf)}</p>;
}

function Figures({ segment: { preview, reach, snapshot_at: at } }: { segment: Viewed }) {
  return (
    <dl className="body terms">
      <div>
        <dt>People</dt>
        <dd>
          <b>{countText(preview!.people_number)}</b>, {preview!.people_percent} % of the people of the app
        </dd>
      </div>
      <div>
        <dt>Reachable by push</dt>
        <dd>
          {preview!.push_percent} % of them; {countText(reach!.optin)} of their {countText(reach!.count)} devices allow
          pushes, {countText(reach!.token)} have a token
        </dd>
      </div>
      <div>
        <dt>As of</dt>
        <dd>
          <When at={at} />
        </dd>
      </div>
    </dl>
  );
}

function Actions({ segment: { identifier, name, used_by: users } }: { segment: Viewed }) {
  const navigate = useNavigate();
  const { may } = useSession();
  const remove = useAction('deleteSegment', {
    changes: ['listSegments'],
    onDone: () => void navigate({ to: '/segments' }),
  });
  return (
    <>
      <ConfirmButton
        operation="deleteSegment"
        title={`Delete ${name}?`}
        says={
          users.length === 0
            ? 'Its filters, its people and the counts of its days go for good. The people themselves stay.'
            : `${users.length} others name it, so that it can't be deleted: see "Used by".`
        }
        yes="Delete it"
        sent={remove}
        onYes={(options) => remove.mutate({ params: { identifier } }, options)}
      >
        Delete
      </ConfirmButton>
      {may('updateSegment') && (
        <Link className="btn main" to={`/segments/${identifier}/edit`}>
          Change
        </Link>
      )}
    </>
  );
}

function UsedBy({ users }: { users: Viewed['used_by'] }) {
  return (
    <Panel title="Used by">
      {users.length === 0 ? (
        <p className="body second">No segment and no open campaign names it.</p>
      ) : (
        <ul className="body">
          {users.map(({ kind, identifier, name }) => (
            <li key={identifier}>
              {kind}{' '}
              <Link to={kind === 'segment' ? `/segments/${identifier}` : `/campaigns/${identifier}`}>{name}</Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** The results of a campaign: numbers that add up, why the others got none, by variant, day and channel. */
import type { CampaignDetails, CampaignResults } from '../../../api/client.ts';
import { HOUR_MS } from '../../../domain/time/durations.ts';
import { OUTCOME_DAYS } from '../../../domain/campaigns/control-group.ts';
import { Balance, type Tone } from '../../parts/balance.tsx';
import { StackedBars } from '../../parts/bars.tsx';
import { dayText } from '../../parts/calendar.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, Percent, percentText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { isUnderWay } from './campaign-state.tsx';
import { intervalText } from './interval.ts';

type Counts = CampaignResults['total'];
type ResultGroup = CampaignResults['codes'][number]['group'];

const GROUPS: Record<ResultGroup, { label: string; tone: Tone }> = {
  confirmed: { label: 'confirmed by the device', tone: 'ok' },
  taken: { label: 'taken by the provider', tone: 'accent' },
  unknown: { label: 'unknown', tone: 'unknown' },
  refused: { label: 'refused', tone: 'bad' },
  waiting: { label: 'waiting', tone: 'info' },
  in_app_only: { label: 'in the app alone', tone: 'info' },
  not_sent: { label: 'not sent', tone: 'neutral' },
};
const SENT = ['confirmed', 'taken', 'unknown', 'refused'] as const;

export function Results({ campaign }: { campaign: CampaignDetails }) {
  const results = useRead(
    'viewCampaignResults',
    { params: { identifier: campaign.identifier }, query: {} },
    { pollWhile: ({ as_of: at, total }) => at === null || total.waiting > 0 || isMoving(campaign) },
  );
  return <Shown result={results}>{(data) => <Counted data={data} campaign={campaign} />}</Shown>;
}

/** Returns whether devices still confirm: a campaign that sends, and one of the last hour. */
function isMoving({ status, launched_at: launched }: CampaignDetails): boolean {
  return isUnderWay(status) || (launched !== null && launched * 1_000 > Date.now() - HOUR_MS);
}

function Counted({ data, campaign }: { data: CampaignResults; campaign: CampaignDetails }) {
  const { total, as_of: asOf, codes, days, variants } = data;
  if (asOf === null) {
    return (
      <Panel title="Results">
        <Empty says="Nothing is counted yet. Results appear here within a minute of the first message." />
      </Panel>
    );
  }
  const note = (
    <>
      As of <When at={asOf} />. Unknown means that the push may have left or not: it is neither a success nor a failure,
      and is not sent again.
    </>
  );
  return (
    <>
      <Balance total={total.sent} what="pushes sent" parts={partsOf(SENT, total)} note={note} />
      {total.messages !== total.sent && (
        <Balance
          total={total.messages}
          what="devices in all"
          parts={[
            { label: 'sent a push', count: total.sent, tone: 'accent' },
            ...partsOf(['waiting', 'in_app_only', 'not_sent'], total),
          ]}
          note={<NotYet campaign={campaign} total={total} />}
        />
      )}
      <Panel title="Why, by code">
        <Codes codes={codes} messages={total.messages} />
      </Panel>
      <Channels total={total} campaign={campaign} />
      {variants.length > 0 && <Variants variants={variants} />}
      {days.length > 0 && <Days days={days} />}
    </>
  );
}

const partsOf = (groups: readonly ResultGroup[], counts: Counts) =>
  groups.map((group) => ({ ...GROUPS[group], count: counts[group] }));

function NotYet({
  campaign: { reach, reach_state: state, status },
  total,
}: {
  campaign: CampaignDetails;
  total: Counts;
}) {
  const left = reach.count - total.messages;
  return state === 'counted' && isUnderWay(status) && left > 0 ? (
    <>
      The time of <Count value={left} /> more devices of the audience has not come yet.
    </>
  ) : (
    <>A person with several devices has a result on each.</>
  );
}

function Codes({ codes, messages }: { codes: CampaignResults['codes']; messages: number }) {
  return (
    <DataTable
      caption="Messages by code"
      columns={[
        { title: 'What', cell: ({ group }) => <Chip tone={GROUPS[group].tone}>{GROUPS[group].label}</Chip> },
        {
          title: 'Why',
          cell: ({ group, code, reason, details }) => (
            <span className="wraps">
              {group === 'confirmed' ? 'the device said that it got the push' : (details ?? reason)}{' '}
              <code className="quiet">{code}</code>
            </span>
          ),
        },
        { title: 'Devices', isNumber: true, cell: ({ messages: count }) => <Count value={count} /> },
        { title: 'Of all', isNumber: true, cell: ({ messages: count }) => percentText(count, messages) },
      ]}
      rows={codes}
      keyOf={({ group, code, details }) => `${group} ${code} ${details}`}
      empty={<Empty says="No message has a result yet." />}
    />
  );
}

function Channels({
  total,
  campaign: { includes_push: push, includes_inapp: inapp },
}: {
  total: Counts;
  campaign: CampaignDetails;
}) {
  const rows = [
    ...(push ? [{ channel: 'Push', got: total.sent, gotWord: 'sent', acts: [['opened', total.opened]] as const }] : []),
    ...(inapp
      ? [
          {
            channel: 'In the app',
            got: total.in_app,
            gotWord: 'available',
            acts: [
              ['shown', total.shown],
              ['clicked', total.clicked],
            ] as const,
          },
        ]
      : []),
  ];
  return (
    <Panel title="By channel">
      <DataTable
        caption="By channel"
        columns={[
          { title: 'Channel', cell: ({ channel }) => channel },
          {
            title: 'Devices',
            isNumber: true,
            cell: ({ got, gotWord }) => (
              <>
                <Count value={got} /> {gotWord}
              </>
            ),
          },
          {
            title: 'What people did',
            cell: ({ got, acts }) =>
              acts.map(([word, count]) => (
                <span key={word} className="block">
                  <Count value={count} /> {word}, <span className="n">{percentText(count, got)}</span>
                </span>
              )),
          },
        ]}
        rows={rows}
        keyOf={({ channel }) => channel}
        empty={null}
      />
    </Panel>
  );
}

function Variants({ variants }: { variants: CampaignResults['variants'] }) {
  return (
    <Panel
      title="By variant"
      footer="The interval has the true share with 95 % certainty. Two variants differ if their intervals lie apart."
    >
      <DataTable
        caption="By variant"
        columns={[
          {
            title: 'Variant',
            cell: ({ name, identifier, share }) => (
              <>
                {name ?? identifier}
                {share !== null && <span className="small quiet"> {share} % of the people</span>}
              </>
            ),
          },
          { title: 'Sent', isNumber: true, cell: ({ sent }) => <Count value={sent} /> },
          { title: 'Confirmed', isNumber: true, cell: ({ confirmed }) => <Count value={confirmed} /> },
          { title: 'Unknown', isNumber: true, cell: ({ unknown }) => <Count value={unknown} /> },
          { title: 'Opened', isNumber: true, cell: ({ opened }) => <Count value={opened} /> },
          {
            title: 'Opened of sent',
            isNumber: true,
            cell: ({ opened, sent }) => (
              <>
                {percentText(opened, sent)}
                <span className="block small quiet">{intervalText(opened, sent)}</span>
              </>
            ),
          },
        ]}
        rows={variants}
        keyOf={({ identifier }) => identifier}
        empty={null}
      />
    </Panel>
  );
}

function Days({ days }: { days: CampaignResults['days'] }) {
  const kinds = SENT.map((group) => GROUPS[group]);
  return (
    <Panel title="By day (UTC)">
      <div className="body">
        <StackedBars
          what="pushes sent"
          of="day"
          kinds={kinds}
          stacks={days.map((each) => ({ label: dayText(each.day), counts: SENT.map((group) => each[group]) }))}
        />
      </div>
    </Panel>
  );
}

/** The people who were held back beside the others: what the campaign brought. */
export function ControlGroup({ campaign: { control_group: held, targeted } }: { campaign: CampaignDetails }) {
  if (held === null || targeted === null) return null;
  const rows = [
    { who: 'Others of the audience', ...targeted },
    { who: 'Control group, held back', ...held },
  ];
  return (
    <Panel title="Against the control group">
      <DataTable
        caption="Against the control group"
        columns={[
          { title: 'Who', cell: ({ who }) => who },
          { title: 'People', isNumber: true, cell: ({ people }) => <Count value={people} /> },
          {
            title: `Opened the app within ${OUTCOME_DAYS} days`,
            isNumber: true,
            cell: ({ opened_app: opened, people }) => (
              <>
                <Count value={opened} />, <Percent part={opened} whole={people} of="them" />
                <span className="block small quiet">{intervalText(opened, people)}</span>
              </>
            ),
          },
        ]}
        rows={rows}
        keyOf={({ who }) => who}
        empty={null}
      />
    </Panel>
  );
}

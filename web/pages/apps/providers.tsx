/** An app's push providers: their outcomes, what waits, and which devices pushes reach. */
import type { PushCheck, PushOutcomes } from '../../../api/client.ts';
import { PUSH_PLATFORMS, type PushPlatform } from '../../../domain/sends/push.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { Balance, type Tone } from '../../parts/balance.tsx';
import { StackedBars } from '../../parts/bars.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const PLATFORM_NAMES: Record<PushPlatform, string> = { ios: 'iOS', android: 'Android', web: 'Web' };
const PROVIDER_NAMES: Record<string, string> = {
  sandbox: 'Sandbox',
  fcm: 'Firebase Cloud Messaging',
  apns: 'Apple Push Notification service',
  web_push: 'Web Push',
};

const providerName = (provider: string): string => PROVIDER_NAMES[provider] ?? provider;

export function Providers({ app }: { app: string }) {
  const missing = useSession().missingFor('viewPushOutcomes');
  if (missing.length > 0) {
    return (
      <Panel title="Providers of pushes">
        <p className="body second">{sayMissing(missing)}.</p>
      </Panel>
    );
  }
  return <Read app={app} />;
}

function Read({ app }: { app: string }) {
  const outcomes = useRead('viewPushOutcomes', { params: { app_identifier: app }, query: {} });
  return (
    <>
      <PlatformPanel app={app} own={outcomes.data?.platform} />
      <Shown result={outcomes}>
        {(data) => (
          <>
            {data.refused && (
              <p className="note bad">
                <Icon name="crash" />
                <span>
                  {providerName(data.refused.provider)} has refused each push since <When at={data.refused.since} />:{' '}
                  <code>{data.refused.code}</code>. Check the provider.
                </span>
              </p>
            )}
            <DevicePanel outcomes={data} />
            <Waiting outcomes={data} />
            <Days outcomes={data} />
          </>
        )}
      </Shown>
    </>
  );
}

function PlatformPanel({ app, own }: { app: string; own: PushPlatform | undefined }) {
  const check = useAction('checkPush');
  const found = new Map(check.data?.platforms.map((each) => [each.platform, each]));
  return (
    <Panel
      title="Providers of pushes"
      end={
        <ActionButton
          operation="checkPush"
          isBusy={check.isPending}
          onPress={() => check.mutate({ params: { app_identifier: app }, body: {} })}
        >
          {check.isPending ? 'Asking the providers' : 'Check them'}
        </ActionButton>
      }
    >
      {check.error && <Refused refusal={check.error} />}
      <ul className="body" aria-label="Platforms">
        {PUSH_PLATFORMS.map((platform) => (
          <li key={platform} className="tight">
            <Platform app={app} platform={platform} isOwn={platform === own} check={found.get(platform)} />
          </li>
        ))}
      </ul>
      <footer>
        <span>A check asks each provider whether it takes the credentials. No device gets anything.</span>
      </footer>
    </Panel>
  );
}

function Platform({
  app,
  platform,
  isOwn,
  check,
}: {
  app: string;
  platform: PushPlatform;
  isOwn: boolean;
  check: PushCheck | undefined;
}) {
  const read = useRead('viewPushProvider', { params: { app_identifier: app, platform } });
  return (
    <Shown result={read}>
      {({ provider, updated_at: at }) => (
        <>
          <span className="facts">
            <b>{PLATFORM_NAMES[platform]}</b>
            <span>{providerName(provider)}</span>
            {isOwn && <Chip tone="accent">this app</Chip>}
            {provider === 'sandbox' && <Chip tone="warn">sends nothing</Chip>}
            {check && <Chip tone={check.ok ? 'ok' : 'bad'}>{check.ok ? 'works' : 'does not work'}</Chip>}
            <span className="quiet">
              {at === null ? (
                'the default: none was set'
              ) : (
                <>
                  set <When at={at} />
                </>
              )}
            </span>
          </span>
          {check && check.findings.length > 0 && (
            <ul className="tight" role="status">
              {check.findings.map(({ severity, field, message }) => (
                <li key={`${field} ${message}`} className="facts">
                  <Chip tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Chip>
                  <span className="wraps">
                    <code>{field}</code> {message}
                  </span>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Shown>
  );
}

function DevicePanel({ outcomes: { devices, platform } }: { outcomes: PushOutcomes }) {
  return (
    <Balance
      total={devices.devices}
      what={`${PLATFORM_NAMES[platform]} devices have the app`}
      parts={[
        { label: 'take pushes', count: devices.reachable, tone: 'ok' },
        { label: 'turned pushes off', count: devices.turned_off, tone: 'neutral' },
        { label: 'have no push token', count: devices.without_token, tone: 'warn' },
        { label: 'uninstalled the app', count: devices.uninstalled, tone: 'neutral' },
      ]}
    />
  );
}

function Waiting({ outcomes: { waiting, waiting_is_more: isMore } }: { outcomes: PushOutcomes }) {
  return (
    <Panel title="Pushes that wait">
      <DataTable
        caption="Pushes that wait, by reason"
        columns={[
          { title: 'Why', cell: ({ meaning }) => meaning },
          {
            title: 'Pushes',
            isNumber: true,
            cell: ({ pushes }) => (
              <>
                <Count value={pushes} />
                {isMore && ' or more'}
              </>
            ),
          },
          { title: 'The first is due', cell: ({ next_at: at }) => (at === null ? 'now' : <When at={at} />) },
        ]}
        rows={waiting}
        keyOf={({ reason }) => reason}
        empty={<Empty says="No push of this app waits." />}
      />
    </Panel>
  );
}

type Outcome = PushOutcomes['days'][number]['outcome'];

const OUTCOMES: { outcome: Outcome; label: string; tone: Tone }[] = [
  { outcome: 'sent', label: 'taken', tone: 'ok' },
  { outcome: 'unknown', label: 'unknown', tone: 'unknown' },
  { outcome: 'refused', label: 'refused', tone: 'bad' },
  { outcome: 'gone', label: 'token gone', tone: 'neutral' },
  { outcome: 'too_big', label: 'too big', tone: 'warn' },
  { outcome: 'expired', label: 'expired', tone: 'info' },
];

function Days({ outcomes }: { outcomes: PushOutcomes }) {
  const { days, since, as_of: asOf } = outcomes;
  const codes = [...Map.groupBy(days, ({ provider, outcome, code }) => `${provider} ${outcome} ${code}`).values()].map(
    (same) => ({ ...same[0]!, pushes: sumOf(same), last: same[0]!.day }),
  );
  return (
    <Panel
      title="What the provider said"
      end={
        <span className="small quiet">
          {asOf === null ? (
            'nothing counted yet'
          ) : (
            <>
              as of <When at={asOf} />
            </>
          )}
        </span>
      }
      footer={<span>Days of the messages, UTC. Tests of campaigns do not count.</span>}
    >
      {days.length === 0 ? (
        <Empty says="No push went to a provider in these 30 days." />
      ) : (
        <>
          <div className="body">
            <StackedBars
              what="pushes"
              of="day"
              kinds={OUTCOMES.map(({ label, tone }) => ({ label, tone }))}
              stacks={daysFrom(since).map((day) => ({
                label: day,
                counts: OUTCOMES.map(({ outcome }) =>
                  sumOf(days.filter((each) => each.day === day && each.outcome === outcome)),
                ),
              }))}
            />
          </div>
          <DataTable
            caption="Outcomes by provider and code"
            columns={[
              { title: 'Provider', cell: ({ provider }) => providerName(provider) },
              { title: 'Outcome', cell: (row) => <OutcomeText row={row} /> },
              {
                title: 'Code',
                cell: ({ code }) =>
                  code === null ? <span className="quiet">–</span> : <code className="id-cell">{code}</code>,
              },
              { title: 'Pushes', isNumber: true, cell: ({ pushes }) => <Count value={pushes} /> },
              { title: 'Last day', cell: ({ last }) => <span className="n">{last}</span> },
            ]}
            rows={codes.toSorted((one, other) => other.pushes - one.pushes)}
            keyOf={({ provider, outcome, code }) => `${provider} ${outcome} ${code}`}
            empty={null}
          />
        </>
      )}
    </Panel>
  );
}

function OutcomeText({ row: { outcome, reason } }: { row: PushOutcomes['days'][number] }) {
  const { label, tone } = OUTCOMES.find((each) => each.outcome === outcome)!;
  return (
    <span className="facts">
      <Chip tone={tone}>{label}</Chip>
      <span className="small second">{reason}</span>
    </span>
  );
}

const sumOf = (rows: readonly { pushes: number }[]): number => rows.reduce((sum, { pushes }) => sum + pushes, 0);

/** Returns each day from one to today, in UTC. */
function daysFrom(since: string): string[] {
  const [first, last] = [Date.parse(since), Date.now()];
  return Array.from({ length: Math.floor((last - first) / DAY_MS) + 1 }, (_, day) =>
    new Date(first + day * DAY_MS).toISOString().slice(0, 10),
  );
}

/** One app: what came from its SDK today and in 31 days, its live calls, keys, refused calls, events and settings. */
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { CallCounts, OperationName, ViewedApp } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Balance } from '../../parts/balance.tsx';
import { StackedBars } from '../../parts/bars.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { type Tab, Tabs } from '../../parts/tabs.tsx';
import { countText, Id, When } from '../../parts/values.tsx';
import { type ResultOf, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { PAGES } from '../index.ts';
import { Keys } from './api-keys.tsx';
import { AppState } from './apps.tsx';
import { Certificates } from './certificates.tsx';
import { EventNames } from './event-names.tsx';
import { LiveCalls } from './live-calls.tsx';
import { Providers } from './providers.tsx';
import { RefusedCalls } from './refused-calls.tsx';
import { TokenKeys } from './token-keys.tsx';

const DAYS = 31;
/** While live calls come in, they are counted again this often. */
const COUNTS_STAY_MS = 5_000;

export function AppPage() {
  const { id = '' } = useParams({ strict: false });
  const read = useRead('viewApp', { params: { app_identifier: id }, query: { secrets: false } });
  return (
    <Shown result={read} head={<Head title="App" within={{ title: 'Apps', to: '/apps', name: id }} />}>
      {({ apps: [app] }) => <Known app={app!} />}
    </Shown>
  );
}

function Known({ app }: { app: ViewedApp }) {
  const { may, missingFor } = useSession();
  const params = { app_identifier: app.identifier };
  const counted = useRead('countCalls', { params, query: { days: DAYS } }, { isWanted: may('countCalls') });
  const missing = missingFor('countCalls');
  const [newest, setNewest] = useState(0);
  const { dataUpdatedAt: countedAt, refetch: countAgain } = counted;
  useEffect(() => {
    if (newest === 0) return;
    const timer = setTimeout(() => void countAgain(), Math.max(0, countedAt + COUNTS_STAY_MS - Date.now()));
    return () => clearTimeout(timer);
    // A count that has just come asks for no other one.
  }, [newest, countAgain]);
  return (
    <>
      <AppHead app={app} isSending={app.has_usage_data || typeof counted.data?.last_received_at === 'string'} />
      {missing.length > 0 ? (
        <p className="note info">{sayMissing(missing)} to see what its SDK sends.</p>
      ) : (
        <Shown result={counted}>{(counts) => <Traffic counts={counts} />}</Shown>
      )}
      <Tabs
        label="Parts of the app"
        tabs={[
          {
            value: 'calls',
            title: 'Calls and keys',
            content: () => <Calls app={app} counts={counted.data} onNews={setNewest} />,
          },
          withCommand(app, 'refused', 'Refused', () => <RefusedCalls app={app} />),
          ...(may('listEventDefinitions')
            ? [withCommand(app, 'names', 'Names of events', () => <EventNames app={app} />)]
            : []),
          withCommand(app, 'push', 'Push', () => <Push app={app} />),
          ...(may('listUserTokenKeys')
            ? [withCommand(app, 'tokens', 'User tokens', () => <TokenKeys app={app} />)]
            : []),
        ]}
      />
    </>
  );
}

type Command = { operation: OperationName; lines: (app: string) => readonly string[]; manual: string };

/** Commands of the tabs below each other; that of the first stands beside its list. */
const COMMANDS = {
  refused: {
    operation: 'listRefusedCalls',
    lines: (app) => [`millrace apps refused ${app}`],
    manual: 'tracking',
  },
  names: {
    operation: 'listEventDefinitions',
    lines: (app) => [
      `millrace apps events list ${app}`,
      `millrace apps events name ${app} <event> --name 'Order completed' --goal`,
    ],
    manual: 'labels',
  },
  push: {
    operation: 'viewPushOutcomes',
    lines: (app) => [
      `millrace push outcomes ${app}`,
      `millrace push check ${app}`,
      `millrace apps certificates list ${app}`,
    ],
    manual: 'push-providers',
  },
  tokens: {
    operation: 'listUserTokenKeys',
    lines: (app) => [`millrace apps token-keys list ${app}`, `millrace apps token-keys add ${app}`],
    manual: 'user-tokens',
  },
} satisfies Record<string, Command>;

/** Returns a tab whose content ends with its command. */
function withCommand(
  { identifier }: ViewedApp,
  value: keyof typeof COMMANDS,
  title: string,
  content: () => ReactNode,
): Tab {
  const { operation, lines, manual } = COMMANDS[value];
  return {
    value,
    title,
    content: () => (
      <div className="stack">
        {content()}
        <AsCommand
          operation={operation}
          params={{ app_identifier: identifier }}
          cli={lines(identifier)}
          manual={manual}
        />
      </div>
    ),
  };
}

function Push({ app }: { app: ViewedApp }) {
  return (
    <div className="stack">
      <Providers app={app.identifier} />
      <Certificates app={app} />
    </div>
  );
}

/** Pages of what its devices did, as far as this build has them. */
const LOOKS = ['events', 'sessions', 'devices', 'locations', 'crashes'] as const;

function AppHead({ app, isSending }: { app: ViewedApp; isSending: boolean }) {
  const { identifier, name, platform, is_qa: isQa, package_name: packageName, downloads, mau } = app;
  const { missingForPage, may } = useSession();
  const looks = LOOKS.filter((look) =>
    PAGES.some((page) => page.path === `/apps/$id/${look}` && missingForPage(page).length === 0),
  );
  return (
    <Head
      within={{ title: 'Apps', to: '/apps', name: identifier }}
      title={name}
      state={
        <span className="chips">
          <AppState app={app} isSending={isSending} />
          {isQa && <Chip tone="neutral">for tests</Chip>}
          {!app.verified_users && <Chip tone="warn">users not verified</Chip>}
        </span>
      }
      facts={
        <>
          <span>{platform}</span>
          <code>{packageName}</code>
          <span>
            <b>{countText(downloads)}</b> {downloads === 1 ? 'device' : 'devices'}, <b>{countText(mau)}</b> seen in 30
            days
          </span>
          {app.last_sdk_version !== null && (
            <span>
              SDK <b>{app.last_sdk_version}</b>
            </span>
          )}
          <Id value={identifier} />
        </>
      }
      actions={
        <>
          {looks.map((look) => (
            <Link key={look} className="btn" to={`/apps/${identifier}/${look}`}>
              {look.replace(/^./, (first) => first.toUpperCase())}
            </Link>
          ))}
          {may('viewWalletLanguages') && (
            <Link className="btn" to={`/apps/${identifier}/wallet`}>
              <Icon name="lock" />
              Data wallet
            </Link>
          )}
          {may('updateApp') && (
            <Link className="btn" to={`/apps/${identifier}/edit`}>
              <Icon name="gear" />
              Settings
            </Link>
          )}
        </>
      }
    />
  );
}

type Counts = ResultOf<'countCalls'>;

function Traffic({ counts: { days, last_received_at: last } }: { counts: Counts }) {
  const [today] = days;
  const ofNoApp = days.reduce((sum, day) => sum + day.refused_of_no_app, 0);
  return (
    <>
      <Balance
        total={today!.received}
        what="received today (UTC)"
        parts={[
          { label: 'accepted', count: today!.accepted, tone: 'ok' },
          { label: 'repeats', count: today!.duplicates, tone: 'neutral' },
          { label: 'refused', count: today!.refused, tone: 'bad', to: '.', search: { tab: 'refused' } },
        ]}
        note={
          last === null ? (
            `No call in ${DAYS} days.`
          ) : (
            <>
              The last call came <When at={last} />. Repeats are calls that the SDK sent again.
            </>
          )
        }
      />
      {ofNoApp > 0 && (
        <p className="note warn" role="status">
          <Icon name="branch" />
          <span>
            Several apps share a key of this one, and {countText(ofNoApp)} calls of {DAYS} days named none of them: they
            were refused as unknown app and count for no app. Send the package name as{' '}
            <code>context.app.namespace</code>, or give each app a key of its own.
          </span>
        </p>
      )}
      <Panel title={`Calls by day (UTC), ${DAYS} days`}>
        <div className="body">
          <StackedBars
            what="calls"
            of="day"
            kinds={[
              { label: 'accepted', tone: 'ok' },
              { label: 'repeats', tone: 'neutral' },
              { label: 'refused', tone: 'bad' },
            ]}
            stacks={days.toReversed().map(stackOf)}
          />
        </div>
      </Panel>
    </>
  );
}

const stackOf = ({ date, accepted, duplicates, refused }: CallCounts) => ({
  label: date,
  counts: [accepted, duplicates, refused],
});

function Calls({
  app,
  counts,
  onNews,
}: {
  app: ViewedApp;
  counts: Counts | undefined;
  onNews: (newest: number) => void;
}) {
  const { identifier } = app;
  return (
    <div className="cols">
      <LiveCalls app={app} lastReceivedAt={counts?.last_received_at ?? null} onNews={onNews} />
      <div className="stack">
        <Keys app={app} />
        <AsCommand
          operation="listLiveCalls"
          params={{ app_identifier: identifier }}
          cli={[
            `millrace apps tail ${identifier}`,
            `millrace apps counts ${identifier}`,
            `millrace apps refused ${identifier}`,
            `millrace apps keys list ${identifier}`,
          ]}
          manual="tracking"
        />
      </div>
    </div>
  );
}

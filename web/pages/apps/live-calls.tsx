/** The calls of an app as they come in: a list that can be stopped, with the reason of each refused one. */
import { useEffect, useState } from 'react';
import type { LiveCall, ViewedApp } from '../../../api/client.ts';
import type { RefusalCode } from '../../../domain/tracking/call.ts';
import { Audited } from '../../parts/audited.tsx';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { countText, When } from '../../parts/values.tsx';
import { type ResultOf, useRead } from '../../session/calls.ts';
import { ReadCall } from './read-call.tsx';

type Live = ResultOf<'listLiveCalls'>;
const MAX_SHOWN = 100;
const OUTCOMES = ['all', 'accepted', 'duplicate', 'refused', 'failed'] as const;
type Outcome = (typeof OUTCOMES)[number];

const TONES: Record<LiveCall['outcome'], Tone> = {
  accepted: 'ok',
  duplicate: 'neutral',
  refused: 'bad',
  failed: 'bad',
  widened: 'warn',
};
const WORDS: Record<LiveCall['outcome'], string> = {
  accepted: 'accepted',
  duplicate: 'repeat',
  refused: 'refused',
  failed: 'a trait failed',
  widened: 'an attribute became a String',
};

type Watched = {
  app: ViewedApp;
  lastReceivedAt: string | null;
  /** Learns the id of the newest call, so that counts can be asked for again. */
  onNews: (newest: number) => void;
};

export function LiveCalls(watched: Watched) {
  return (
    <Panel title="Live calls">
      <Audited operation="listLiveCalls" what="the live calls">
        {() => <Followed {...watched} />}
      </Audited>
    </Panel>
  );
}

function Followed({ app, lastReceivedAt, onNews }: Watched) {
  const [isStopped, setStopped] = useState(false);
  const params = { app_identifier: app.identifier };
  const [outcome, setOutcome] = useState<Outcome>('all');
  const read = useRead(
    'listLiveCalls',
    { params },
    {
      pollWhile: () => !isStopped,
      follow: {
        inputAfter: ({ calls }: Live) => ({ params, query: { after: calls[0]?.id ?? 0 } }),
        join: (known, { calls }) => ({ calls: [...calls, ...known.calls].slice(0, MAX_SHOWN) }),
      },
    },
  );
  const newest = read.data?.calls[0]?.id ?? 0;
  useEffect(() => onNews(newest), [newest, onNews]);
  return (
    <Shown result={read}>
      {({ calls }) =>
        calls.length === 0 ? (
          <Quiet app={app} lastReceivedAt={lastReceivedAt} />
        ) : (
          <>
            <div className="body">
              <button type="button" className="btn" aria-pressed={isStopped} onClick={() => setStopped(!isStopped)}>
                {isStopped ? 'Go on' : 'Stop the list'}
              </button>
              <Toggles
                label="Outcome"
                choices={OUTCOMES.map((value) => ({ value, title: <Choice value={value} calls={calls} /> }))}
                value={outcome}
                onChange={setOutcome}
              />
              <p className="small quiet" role="status">
                {isStopped
                  ? 'Stopped: calls that come now show when it goes on.'
                  : `The last ${countText(calls.length)}, within two seconds of their arrival. One entry in the audit log covers an hour.`}
              </p>
            </div>
            <ol className="calls">
              {calls
                .filter((call) => outcome === 'all' || call.outcome === outcome)
                .map((call) => (
                  <Call key={call.id} call={call} app={app} />
                ))}
            </ol>
          </>
        )
      }
    </Shown>
  );
}

function Choice({ value, calls }: { value: Outcome; calls: readonly LiveCall[] }) {
  const count = value === 'all' ? calls.length : calls.filter(({ outcome }) => outcome === value).length;
  return (
    <>
      {value === 'all' ? 'all' : WORDS[value]}
      <b>{countText(count)}</b>
    </>
  );
}

function Call({ call, app }: { call: LiveCall; app: ViewedApp }) {
  const { outcome, message, code, received_at: at, of_app: isOfApp } = call;
  return (
    <li>
      <details>
        <summary>
          <Chip tone={TONES[outcome]}>{WORDS[outcome]}</Chip> <code>{titleOf(call.call)}</code>{' '}
          {!isOfApp && <Chip tone="warn">of no app</Chip>} <When at={at} />
          {message !== null && (
            <span className="why">
              {code !== null && <b>{code}</b>} {message}
            </span>
          )}
        </summary>
        {outcome === 'failed' || outcome === 'widened' ? (
          <pre className="cmd">{call.call}</pre>
        ) : (
          <ReadCall
            raw={call.call}
            receivedAt={at}
            packageName={app.package_name}
            refused={outcome === 'refused' ? { code: code as RefusalCode, message: message ?? '' } : null}
          />
        )}
      </details>
    </li>
  );
}

const MAX_TITLE = 60;

/** Returns what names a call in a line: its type and event. */
function titleOf(raw: string): string {
  try {
    const { type, event, name } = JSON.parse(raw) as Record<string, unknown>;
    const words = [type, event ?? name].filter((word) => typeof word === 'string' && word !== '');
    return words.length === 0 ? raw.slice(0, MAX_TITLE) : words.join(' ').slice(0, MAX_TITLE);
  } catch {
    return raw.slice(0, MAX_TITLE);
  }
}

/** Says why there may be nothing, and what to check. */
function Quiet({ app, lastReceivedAt }: Pick<Watched, 'app' | 'lastReceivedAt'>) {
  return (
    <div className="body empty">
      <p className="second">
        {lastReceivedAt === null ? (
          'No call yet, and none in the last 31 days.'
        ) : (
          <>
            No call in the last hour. The last one came <When at={lastReceivedAt} />.
          </>
        )}{' '}
        A call shows here within two seconds.
      </p>
      <ul className="second">
        {!app.has_api_key && <li>It has no key: the server answers 401.</li>}
        <li>Does the SDK have the address of this server, and a key that is not revoked? Else it gets 401.</li>
        <li>SDKs send in batches, after some seconds or calls: flush, or wait.</li>
        <li>
          A body has at most 500 KiB and 2,500 calls, a call 32 KiB; beyond that it is refused.{' '}
          <a href="/manual/tracking.md#limits">All limits</a>
        </li>
      </ul>
    </div>
  );
}

/** The refused calls of 30 days by code, newest first. */
import type { RefusedCall, ViewedApp } from '../../../api/client.ts';
import { REFUSAL_CODES, type RefusalCode } from '../../../domain/tracking/call.ts';
import { Audited } from '../../parts/audited.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Skeleton } from '../../parts/panel.tsx';
import { NextPage, UnreadList } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { ReadCall } from './read-call.tsx';

const CODES = ['all', ...REFUSAL_CODES] as const;

export function RefusedCalls({ app }: { app: ViewedApp }) {
  const [{ code: asked }] = useFilters();
  const code = REFUSAL_CODES.find((each) => each === asked);
  return (
    <Panel title="Refused calls of 30 days">
      <div className="body">
        <FilterToggles
          name="code"
          label="Code"
          value={code ?? 'all'}
          options={CODES.map((value) => ({ value, title: value === 'all' ? 'all' : wordsOf(value) }))}
        />
      </div>
      <Audited key={code} operation="listRefusedCalls" what="the refused calls">
        {() => <List app={app} code={code} />}
      </Audited>
    </Panel>
  );
}

const wordsOf = (code: RefusalCode): string => code.replaceAll('_', ' ');

function List({ app, code }: { app: ViewedApp; code: RefusalCode | undefined }) {
  const list = useList('listRefusedCalls', {
    params: { app_identifier: app.identifier },
    query: code === undefined ? {} : { code },
  });
  const calls = list.data?.pages.flatMap(({ refused_calls: page }) => page) ?? [];
  if (list.isPending) return <Skeleton rows={5} />;
  return (
    <>
      <UnreadList more={list} />
      {calls.length === 0 && list.error === null && (
        <Empty
          says={code === undefined ? 'No call was refused in 30 days.' : `None was refused as ${wordsOf(code)}.`}
        />
      )}
      <ol className="calls">
        {calls.map((call) => (
          <Refused key={`${call.received_at} ${call.index} ${call.message_id}`} call={call} app={app} />
        ))}
      </ol>
      <NextPage more={list} />
    </>
  );
}

function Refused({ call, app }: { call: RefusedCall; app: ViewedApp }) {
  const { code, message, received_at: at, message_id: id, of_app: isOfApp, call: raw } = call;
  return (
    <li>
      <details>
        <summary>
          <Chip tone="bad">{wordsOf(code)}</Chip> {id !== null && <code>{id}</code>}{' '}
          {!isOfApp && <Chip tone="warn">of no app</Chip>} <When at={at} />
          <span className="why">{message}</span>
        </summary>
        <ReadCall raw={raw} receivedAt={at} packageName={app.package_name} refused={{ code, message }} />
      </details>
    </li>
  );
}

/** Checks before a launch besides the draft itself: providers that answer, and the last test. */
import type { ReactNode } from 'react';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Shown } from '../../parts/panel.tsx';
import { When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { summaryOf } from './test-results.tsx';

function Line({ tone, icon, children }: { tone: 'ok' | 'warn' | 'bad' | ''; icon: IconName; children: ReactNode }) {
  return (
    <li className={tone}>
      <Icon name={icon} />
      <div className="tight">{children}</div>
    </li>
  );
}

export function LaunchChecks({ id, appId }: { id: string; appId: string }) {
  return (
    <>
      <Providers appId={appId} />
      <LastTest id={id} />
    </>
  );
}

const PLATFORMS = { ios: 'iOS', android: 'Android', web: 'web' } as const;

function Providers({ appId }: { appId: string }) {
  const check = useAction('checkPush');
  const found = check.data?.platforms;
  const ask = (
    <ActionButton
      operation="checkPush"
      kind="plain"
      isBusy={check.isPending}
      onPress={() => check.mutate({ params: { app_identifier: appId }, body: {} })}
    >
      {found === undefined ? 'Check them' : 'Check again'}
    </ActionButton>
  );
  return (
    <>
      <Line tone="" icon="send">
        <span>Push providers of the app {ask}</span>
        {check.error && <Refused refusal={check.error} />}
      </Line>
      {found?.map(({ platform, provider, ok, findings }) => (
        <Line key={platform} tone={ok ? (findings.length > 0 ? 'warn' : 'ok') : 'bad'} icon={ok ? 'check' : 'crash'}>
          <span>
            {PLATFORMS[platform]}: {provider} {findings.length === 0 && 'answers'}
          </span>
          {findings.map(({ field, message }) => (
            <span key={`${field} ${message}`} className="small wraps">
              <code>{field}</code> {message}
            </span>
          ))}
        </Line>
      ))}
    </>
  );
}

function LastTest({ id }: { id: string }) {
  return (
    <Line tone="" icon="flask">
      <Audited operation="listCampaignTests" what="the last test">
        {() => <ShownTest id={id} />}
      </Audited>
    </Line>
  );
}

function ShownTest({ id }: { id: string }) {
  const tests = useRead('listCampaignTests', { params: { identifier: id }, query: { per_page: '1' } });
  return (
    <Shown result={tests}>
      {({ tests: [last] }) =>
        last === undefined ? (
          <span>It was not tested yet, or more than 30 days ago.</span>
        ) : (
          <span>
            Tested <When at={last.created_at} />
            {last.created_by && ` by ${last.created_by.uid}`} on {last.result_count}{' '}
            {last.result_count === 1 ? 'device' : 'devices'}: {summaryOf(last.results)}
          </span>
        )
      }
    </Shown>
  );
}

/** A test of a campaign: to a few users now, and each device's result. */
import { type FormEvent, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { AreaField, Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Progress } from '../../parts/progress.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { type ResultOf, useAction, useRead } from '../../session/calls.ts';
import { isConfirmed, summaryOf, TestResults } from './test-results.tsx';

type CampaignTest = ResultOf<'viewCampaignTest'>;

const MAX_TESTERS = 20;

/** `isSaved`: the server has the draft as the page shows it. */
export function TestPanel({ id, stored, isSaved }: { id: string; stored: CampaignDetails | null; isSaved: boolean }) {
  const [ids, setIds] = useState('');
  const test = useAction('testCampaign', { changes: ['listCampaignTests'] });
  const users = ids
    .split(/[\n,;]/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const variants = stored !== null && stored.variants.length > 1 ? stored.variants : [];
  const placeholders = stored?.placeholders ?? [];
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const variant = textOf(form, 'variant');
    const values = Object.fromEntries(
      placeholders.map(({ name }) => [name, textOf(form, `templateVars.${name}`)]).filter(([, value]) => value !== ''),
    );
    test.mutate({
      params: { campaign_identifier: id },
      body: {
        users,
        ...(variant === '' ? {} : { variant }),
        ...(placeholders.length === 0 ? {} : { templateVars: values }),
      },
    });
  };
  const isOff = !isSaved || users.length === 0 || users.length > MAX_TESTERS || test.isPending;
  return (
    <Panel title="Test">
      <form className="body" onSubmit={send}>
        <AreaField
          label={`User ids, at most ${MAX_TESTERS}`}
          value={ids}
          rows={2}
          spellCheck={false}
          autoComplete="off"
          hint="One a line, or with commas."
          error={users.length > MAX_TESTERS ? `These are ${users.length}.` : undefined}
          onChange={({ target }) => setIds(target.value)}
        />
        {variants.length > 0 && (
          <SelectField label="Variant" name="variant">
            <option value="">the one that each person gets</option>
            {variants.map(({ identifier, name }) => (
              <option key={identifier} value={identifier}>
                {name}
              </option>
            ))}
          </SelectField>
        )}
        {placeholders.map(({ name, required }) => (
          <Field key={name} label={`Value of ${name}`} name={`templateVars.${name}`} required={required} />
        ))}
        <SendButton stored={stored} isOff={isOff} />
        <p className="small quiet">
          It goes to real devices at once, and counts nowhere. It needs <code>campaign_draft</code> and{' '}
          <code>campaign_publish</code>. Looking at its results is written into the audit log.
        </p>
        {test.error && <Refused refusal={test.error} />}
      </form>
      {test.data && <TestOutcome key={test.data.requestId} requestId={test.data.requestId} variants={variants} />}
    </Panel>
  );
}

function SendButton({ stored, isOff }: { stored: CampaignDetails | null; isOff: boolean }) {
  return (
    <ActionButton operation="testCampaign" of={stored ?? {}} isBusy={isOff}>
      <Icon name="send" />
      Send a test now
    </ActionButton>
  );
}

/** How long after its test a device is waited for: it may say that it got the push. */
const CONFIRM_MS = 120_000;

/** Follows a test: each device appears as the test reaches it. Looks of an hour are one entry of the audit log. */
function TestOutcome({ requestId, variants }: { requestId: string; variants: CampaignDetails['variants'] }) {
  const isMoving = ({ state, results }: CampaignTest): boolean =>
    isOpen(state) ||
    results.some(
      (each) => each.code === 'PUSH_SENT' && !isConfirmed(each) && Date.parse(each.date) > Date.now() - CONFIRM_MS,
    );
  const test = useRead('viewCampaignTest', { params: { request_id: requestId } }, { pollWhile: isMoving });
  const nameOf = (variant: string): string => variants.find(({ identifier }) => identifier === variant)?.name ?? '';
  return (
    <Shown result={test}>
      {({ state, results }) => (
        <>
          {isOpen(state) && (
            <div className="body">
              <Progress
                share={
                  results.length === 0 ? 0 : results.filter(({ code }) => code !== 'PENDING').length / results.length
                }
                label="Sending"
                note={results.length === 0 ? 'No device has a result yet.' : summaryOf(results)}
              />
            </div>
          )}
          {(results.length > 0 || !isOpen(state)) && <TestResults results={results} nameOf={nameOf} />}
        </>
      )}
    </Shown>
  );
}

const isOpen = (state: CampaignTest['state']): boolean => state === 'accepted' || state === 'running';

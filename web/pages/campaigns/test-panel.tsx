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
import { useAction, useRead } from '../../session/calls.ts';
import { TestResults } from './test-results.tsx';

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
          <code>campaign_publish</code>. Its results are written into the audit log as a look.
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

/** Follows a test by its counts, and shows the devices once it has ended: that look is written down once. */
function TestOutcome({ requestId, variants }: { requestId: string; variants: CampaignDetails['variants'] }) {
  const params = { request_id: requestId };
  const state = useRead('viewSend', { params }, { pollWhile: ({ ended_at: at }) => at === null });
  const hasEnded = state.data !== undefined && state.data.ended_at !== null;
  const result = useRead('viewCampaignTest', { params }, { isWanted: hasEnded });
  const nameOf = (variant: string): string => variants.find(({ identifier }) => identifier === variant)?.name ?? '';
  if (!hasEnded) {
    return (
      <Shown result={state}>
        {({ processed, messages, codes }) => (
          <div className="body">
            <Progress
              share={messages === 0 ? 0 : processed / messages}
              label="Sending"
              note={Object.entries(codes)
                .map(([code, count]) => `${count} ${code}`)
                .join(', ')}
            />
          </div>
        )}
      </Shown>
    );
  }
  return <Shown result={result}>{({ results }) => <TestResults results={results} nameOf={nameOf} />}</Shown>;
}

/** The message as one person would get it, with their own values: a look that is written down. */
import { type FormEvent, useState } from 'react';
import type { CampaignParams } from '../../../domain/campaigns/campaign-params.ts';
import { ActionButton } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { type ResultOf, useAction } from '../../session/calls.ts';

type Preview = ResultOf<'previewCampaign'>;

const CODES = {
  MISSING_TEMPLATE_PARAMS: 'It would not be sent: a value is missing that has no default.',
  MESSAGE_TO_BIG: 'It would not be sent: with its values it has more than 32 KiB.',
} as const;

/** `params`: the message as the page shows it. */
export function PersonPreview({
  params,
  includes,
}: {
  params: CampaignParams;
  includes: { push: boolean; inapp: boolean };
}) {
  const look = useAction('previewCampaign');
  const [user, setUser] = useState('');
  const show = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    look.mutate({
      body: {
        params,
        includes_push: includes.push,
        includes_inapp: includes.inapp,
        user: textOf(event.currentTarget, 'user'),
      },
    });
  };
  return (
    <Panel title="For one person">
      <form className="body" onSubmit={show}>
        <Field
          label="User id"
          name="user"
          value={user}
          autoComplete="off"
          spellCheck={false}
          hint="Reading these values is written into the audit log."
          onChange={({ target }) => {
            setUser(target.value);
            look.reset();
          }}
        />
        <ActionButton operation="previewCampaign" of={{ user: 'any' }} isBusy={user === '' || look.isPending}>
          <Icon name="eye" />
          Show their message
        </ActionButton>
        {look.error && <Refused refusal={look.error} />}
        {look.data && <PersonTexts shown={look.data} />}
      </form>
    </Panel>
  );
}

function PersonTexts({ shown: { push, inapp, values } }: { shown: Preview }) {
  const code = push?.code ?? inapp?.code ?? null;
  return (
    <>
      {code !== null && <p className="note bad">{CODES[code]}</p>}
      <dl className="pairs">
        {push !== null && push.code === null && (
          <div>
            <dt>Push</dt>
            <dd>{[push.title, push.body].filter(Boolean).join(': ')}</dd>
          </div>
        )}
        {inapp !== null && inapp.code === null && (
          <div>
            <dt>In the app</dt>
            <dd>{[inapp.title, inapp.content, inapp.content_url].filter(Boolean).join(': ')}</dd>
          </div>
        )}
      </dl>
      <p className="small quiet placeholders">
        {values.map(({ name, text, source }) => `${name}: ${text} (${source})`).join(', ')}
      </p>
    </>
  );
}

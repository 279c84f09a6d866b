/** Name, app, type and channels of a campaign. */
import { useEffect } from 'react';
import { CAMPAIGN_TYPES, type CampaignType } from '../../../domain/campaigns/campaign-status.ts';
import { Field, SelectField } from '../../parts/field.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { TYPES } from './campaign-state.tsx';
import { useEdit } from './edit.tsx';

/** `isKnown`: the server has it, so that its type stays. */
export function GeneralPanel({ isKnown }: { isKnown: boolean }) {
  const { draft, change, errorAt, setChannel } = useEdit();
  const { includes_push: push, includes_inapp: inapp } = draft;
  return (
    <Panel title="Campaign">
      <div className="body">
        <div className="two">
          <Field
            label="Name"
            name="name"
            value={draft.name}
            error={errorAt('name')}
            hint="Customers never see it."
            maxLength={256}
            onChange={({ target }) => change({ name: target.value })}
          />
          <AppField />
        </div>
        {!isKnown && <TypeField />}
        <fieldset className="rights">
          <legend>Channels</legend>
          <label>
            <input
              type="checkbox"
              name="includes_push"
              checked={push}
              onChange={({ target }) => {
                change({ includes_push: target.checked });
                setChannel(target.checked ? 'push' : 'inapp');
              }}
            />{' '}
            a push
          </label>
          <label>
            <input
              type="checkbox"
              checked={inapp}
              onChange={({ target }) => {
                change({ includes_inapp: target.checked });
                setChannel(target.checked ? 'inapp' : 'push');
              }}
            />{' '}
            a message in the app
          </label>
        </fieldset>
      </div>
    </Panel>
  );
}

function AppField() {
  const { draft, change, errorAt } = useEdit();
  const { may } = useSession();
  const isListed = may('listApps');
  const apps = useRead('listApps', { query: { secrets: false } }, { isWanted: isListed });
  const ids = apps.data?.apps.map(({ identifier }) => identifier) ?? [];
  const only = ids.length === 1 ? ids[0]! : '';
  useEffect(() => {
    if (draft.app_id === '' && only !== '') change({ app_id: only });
  }, [draft.app_id, only]);
  const shared = { label: 'App', name: 'app_id', value: draft.app_id, error: errorAt('app_id') };
  if (!isListed)
    return <Field {...shared} hint="Its identifier." onChange={({ target }) => change({ app_id: target.value })} />;
  return (
    <Shown result={apps}>
      {({ apps: all }) => (
        <SelectField
          {...shared}
          hint={all.length === 0 ? 'There is no app yet: a campaign needs one.' : undefined}
          onChange={({ target }) => change({ app_id: target.value })}
        >
          <option value="">Choose one</option>
          {all.map(({ identifier, name }) => (
            <option key={identifier} value={identifier}>
              {name}
            </option>
          ))}
        </SelectField>
      )}
    </Shown>
  );
}

function TypeField() {
  const { draft, change } = useEdit();
  const { missingFor } = useSession();
  const choose = (type: CampaignType): void => change({ type, ...(type === 'transactional' ? { variants: [] } : {}) });
  return (
    <fieldset className="types">
      <legend>Type, which stays</legend>
      {CAMPAIGN_TYPES.map((type) => {
        const missing = missingFor('createCampaign', { type });
        const { title, says, lacks } = TYPES[type];
        return (
          <label key={type} className="type">
            <input
              type="radio"
              name="type"
              value={type}
              checked={draft.type === type}
              disabled={missing.length > 0}
              onChange={() => choose(type)}
            />
            <span>
              <b>{title}</b> {says}.{' '}
              <span className="small quiet">{missing.length > 0 ? `${sayMissing(missing)}.` : lacks}</span>
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

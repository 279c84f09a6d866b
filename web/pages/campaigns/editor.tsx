/** The editor of a draft, in one page: message, audience, schedule, what is missing, preview, test, launch. */
import { type ReactNode, useMemo, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { timeText } from '../../parts/values.tsx';
import { useApp } from './app.ts';
import { useSession } from '../../session/session.tsx';
import { useSettings } from '../../session/settings.ts';
import { AudiencePanel } from './audience-panel.tsx';
import { type Autosave, useAutosave } from './autosave.ts';
import { channelsText, TYPES } from './campaign-state.tsx';
import { bodyOf, type Draft, draftOf, errorsOf, NEW_DRAFT } from './draft.ts';
import { EditProvider } from './edit.tsx';
import type { Channel } from './fields.ts';
import { GeneralPanel } from './general-panel.tsx';
import { Discard, LaunchBar } from './launch.tsx';
import { Duplicate } from './duplicate.tsx';
import { MessagePanel } from './message-fields.tsx';
import { MissingPanel } from './missing.tsx';
import { PlanButton, PlanShown, usePlanned } from './planned.tsx';
import { PreviewOfDraft } from './preview.tsx';
import { LaunchChecks } from './launch-checks.tsx';
import { SchedulePanel } from './schedule-panel.tsx';
import { TestPanel } from './test-panel.tsx';

export function Editor({
  opened,
  onCreated,
}: {
  /** Null: a new one. */
  opened: CampaignDetails | null;
  onCreated?: (id: string) => void;
}) {
  const { missingFor } = useSession();
  const [draft, setDraft] = useState<Draft>(() => (opened === null ? NEW_DRAFT : draftOf(opened)));
  const [variant, setVariant] = useState<number | null>(null);
  const [channel, setChannel] = useState<Channel>(draft.includes_push ? 'push' : 'inapp');
  const [picture, setPicture] = useState<string | null>(draft.params.pushAttachment);
  const own = useMemo(() => errorsOf(draft, new Date()), [draft]);
  const saving = useAutosave(draft, setDraft, {
    opened,
    isComplete: own.length === 0,
    ...(onCreated === undefined ? {} : { onCreated }),
  });
  const refused = saving.isConflict ? [] : (saving.refusal?.extra.messages ?? []);
  const errors = [...own, ...refused];
  const edit = {
    draft,
    change: (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part })),
    variant: variant !== null && variant < draft.variants.length ? variant : null,
    setVariant,
    channel,
    setChannel,
    picture,
    setPicture,
    errorAt: (field: string) =>
      errors.find(({ element, message }) => element === field && !message.startsWith('is required'))?.message,
  };
  const planned = usePlanned(saving.id, draft.type, JSON.stringify(draft));
  const isSaved = saving.state === 'saved' && errors.length === 0;
  const app = useApp(draft.app_id);
  const lacked = missingFor('updateCampaign', draft);
  return (
    <EditProvider value={edit}>
      <EditorHead draft={draft} saving={saving} isNew={opened === null} appName={app?.name ?? null} />
      <Conflict saving={saving} />
      {lacked.length > 0 && (
        <p className="note info">You can read this draft. To change it needs the right {lacked.join(' and ')}.</p>
      )}
      <div className="editor">
        <fieldset className="stack bare" disabled={lacked.length > 0}>
          <GeneralPanel isKnown={saving.id !== null} />
          <MessagePanel />
          {draft.type === 'transactional' ? <NoAudience /> : <AudiencePanel planned={planned} />}
          <SchedulePanel
            appZone={app?.default_tz ?? null}
            {...(draft.type === 'transactional' ? {} : { end: <PlanButton planned={planned} isOff={!isSaved} /> })}
          >
            <PlanShown planned={planned} />
          </SchedulePanel>
          <MissingPanel errors={errors} stored={saving.stored}>
            {saving.id !== null && errors.length === 0 && <LaunchChecks id={saving.id} appId={draft.app_id} />}
          </MissingPanel>
          {saving.refusal && !saving.isConflict && refused.length === 0 && (
            <Refused refusal={saving.refusal} retry={saving.retry} />
          )}
        </fieldset>
        <aside className="stack preview" aria-label="Preview and test">
          <PreviewOfDraft appName={app?.name} />
          {saving.id !== null && <TestPanel id={saving.id} stored={saving.stored} isSaved={isSaved} />}
          <EditorCommand draft={draft} id={saving.id} />
        </aside>
      </div>
      {saving.id !== null && saving.stored && (
        <LaunchBar campaign={saving.stored} planned={planned} isReady={isSaved}>
          <Discard campaign={saving.stored} />
        </LaunchBar>
      )}
    </EditProvider>
  );
}

function EditorHead({
  draft,
  saving,
  isNew,
  appName,
}: {
  draft: Draft;
  saving: Autosave;
  isNew: boolean;
  appName: string | null;
}) {
  const { zone } = useSettings();
  const { id, state, at } = saving;
  const said = {
    saving: 'saving',
    saved: `saved${at === null ? '' : ` ${timeText(at, zone)}`}, nothing is sent until you launch`,
    unsaved: id === null ? 'not saved yet: it needs a name, an app and a message' : 'the last changes are not saved',
  };
  return (
    <Head
      title={draft.name || (isNew ? 'New campaign' : 'Campaign')}
      within={{ title: 'Campaigns', to: '/campaigns', name: id ?? 'new' }}
      state={
        <>
          <Chip tone="neutral">draft</Chip>
          <span className="small quiet" role="status">
            {said[state]}
          </span>
        </>
      }
      actions={id !== null && <Duplicate id={id} type={draft.type} variants={draft.variants} />}
      facts={
        <>
          <span>{TYPES[draft.type].title}</span>
          {appName !== null && <span>app {appName}</span>}
          <span>{channelsText(draft)}</span>
        </>
      }
    />
  );
}

/** Somebody else has changed the draft meanwhile: neither version is lost before the person chooses. */
function Conflict({ saving }: { saving: Autosave }) {
  if (!saving.isConflict) return null;
  return (
    <div className="note warn" role="alert">
      <div className="tight">
        <b>{saving.refusal?.message ?? 'Somebody else has changed this draft.'}</b>
        <span>Your changes are on this page alone. Take over the other version, or replace it by yours.</span>
        <div className="filters">
          <button type="button" className="btn" onClick={() => saving.settle('theirs')}>
            Show the other version
          </button>
          <button type="button" className="btn" onClick={() => saving.settle('mine')}>
            Replace it by mine
          </button>
        </div>
      </div>
    </div>
  );
}

function NoAudience(): ReactNode {
  return (
    <Panel title="Who">
      <p className="body second">
        {TYPES.transactional.says}, with values for its placeholders. {TYPES.transactional.lacks}
      </p>
    </Panel>
  );
}

function EditorCommand({ draft, id }: { draft: Draft; id: string | null }) {
  return id === null ? (
    <AsCommand
      operation="createCampaign"
      body={bodyOf(draft)}
      cli={['millrace campaigns create campaign.json']}
      manual="campaigns"
    />
  ) : (
    <AsCommand
      operation="updateCampaign"
      params={{ campaign_identifier: id }}
      body={bodyOf(draft)}
      cli={[`millrace campaigns update ${id} campaign.json`, `millrace campaigns plan ${id}`]}
      manual="campaigns"
    />
  );
}

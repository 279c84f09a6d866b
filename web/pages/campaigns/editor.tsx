/** The editor of a draft, in one page: message, audience, schedule, what is missing, preview, test, launch. */
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import type { FieldError } from '../../../domain/core/refusal.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ChangedByOthers } from '../../parts/changed-by-others.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { timeText } from '../../parts/values.tsx';
import { useApp } from './app.ts';
import { useSession } from '../../session/session.tsx';
import { useSettings } from '../../session/settings.ts';
import { AudiencePanel } from './audience-panel.tsx';
import { type Autosave, useAutosave } from './autosave.ts';
import { CampaignState, channelsText, statusOf, TYPES } from './campaign-state.tsx';
import { bodyOf, type Draft, draftOf, errorsOf, NEW_DRAFT } from './draft.ts';
import { EditProvider } from './edit.tsx';
import { type Channel, changedLabels, sayError } from './fields.ts';
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
  onUnsaved,
}: {
  /** Null: a new one. */
  opened: CampaignDetails | null;
  onCreated?: (id: string) => void;
  /** Hears whether the page has what the server lacks. */
  onUnsaved?: (isUnsaved: boolean) => void;
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
  useEffect(() => onUnsaved?.(saving.isUnsaved), [saving.isUnsaved]);
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
  const lacked = missingFor('updateCampaign', bodyOf(draft));
  return (
    <EditProvider value={edit}>
      <EditorHead draft={draft} saving={saving} isNew={opened === null} appName={app?.name ?? null} errors={own} />
      <Conflict saving={saving} />
      <LeavingQuestion saving={saving} draft={draft} errors={errors} />
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
  errors,
}: {
  draft: Draft;
  saving: Autosave;
  isNew: boolean;
  appName: string | null;
  errors: readonly FieldError[];
}) {
  const { zone } = useSettings();
  const { id, state, at } = saving;
  const [first] = errors;
  const said = {
    saving: 'saving',
    saved: `saved${at === null ? '' : ` ${timeText(at, zone)}`}, nothing is sent until you launch`,
    unsaved: `${id === null ? 'not saved yet' : 'the last changes are not saved'}${first ? `: ${sayError(first, draft)}` : ''}`,
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
function Conflict({ saving: { isConflict, stored, before, refusal, settle } }: { saving: Autosave }) {
  const navigate = useNavigate();
  if (!isConflict || stored === null) return null;
  const isDraft = statusOf(stored.status) === 'draft';
  const members = isDraft ? changedLabels(before, draftOf(stored)) : [];
  return (
    <ChangedByOthers
      what="campaign"
      mine={isDraft ? 'Keep my changes, and drop theirs' : 'Save mine as a new draft'}
      refusal={refusal}
      onTheirs={() => {
        settle('theirs');
        if (!isDraft) void navigate({ to: `/campaigns/${stored.identifier}`, ignoreBlocker: true });
      }}
      onMine={() => settle('mine')}
    >
      {members.length > 0 && <span>They changed: {members.join(', ')}.</span>}
      {!isDraft && (
        <span>
          It is no draft any more: <CampaignState shown={stored.status} />
        </span>
      )}
    </ChangedByOthers>
  );
}

/** Asks before the page goes with what the server does not take yet. */
function LeavingQuestion({
  saving: { leaving, id },
  draft,
  errors,
}: {
  saving: Autosave;
  draft: Draft;
  errors: readonly FieldError[];
}) {
  if (leaving === null) return null;
  return (
    <Dialog title={`Leave ${draft.name || 'the new campaign'}?`} onClose={leaving.stay}>
      <p className="second">
        {id === null ? 'It is not saved, and is gone when you leave.' : 'The last changes are not saved, and are gone.'}
      </p>
      {errors.length > 0 && (
        <ul>
          {errors.map((error) => (
            <li key={`${error.element} ${error.message}`}>{sayError(error, draft)}</li>
          ))}
        </ul>
      )}
      <div className="filters">
        <button type="button" className="btn main" onClick={leaving.stay}>
          Stay
        </button>
        <button type="button" className="btn danger" onClick={leaving.leave}>
          Leave, and drop it
        </button>
      </div>
    </Dialog>
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

/** Saves a draft by itself while it is edited: one call at a time, none with what the server would refuse. */
import { useBlocker } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import { Refusal } from '../../session/api.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { statusOf } from './campaign-state.tsx';
import { bodyOf, type Draft, draftOf } from './draft.ts';

/** How long the person pauses before a save begins. */
const PAUSE_MS = 700;

export type Autosave = {
  /** Null until the first save. */
  id: string | null;
  /** The campaign as the server has it. */
  stored: CampaignDetails | null;
  state: 'saved' | 'saving' | 'unsaved';
  at: Date | null;
  refusal: Refusal | null;
  /** Somebody else changed or launched the campaign: saving rests until the person chooses. */
  isConflict: boolean;
  /** The draft that this page saved or read last. */
  before: Draft;
  /** The page has what the server lacks. */
  isUnsaved: boolean;
  /** The person is about to leave with what could not be saved. */
  leaving: { stay: () => void; leave: () => void } | null;
  /** Tries again what was refused. */
  retry: () => void;
  /** Goes on from what the server has: takes it over, or replaces it by this draft. A launched one gets a copy. */
  settle: (keeps: 'theirs' | 'mine') => void;
};

type Saved = { id: string | null; revision: number; text: string; at: Date | null };

const CHANGED = ['viewCampaign', 'listCampaigns'] as const;
const isDraft = ({ status }: CampaignDetails): boolean => statusOf(status) === 'draft';

export function useAutosave(
  draft: Draft,
  setDraft: (draft: Draft) => void,
  {
    opened,
    isComplete,
    onCreated,
  }: { opened: CampaignDetails | null; isComplete: boolean; onCreated?: (id: string) => void },
): Autosave {
  const create = useAction('createCampaign', { changes: CHANGED });
  const update = useAction('updateCampaign', { changes: CHANGED });
  const text = JSON.stringify(draft);
  const [saved, put] = useSaved({ id: opened?.identifier ?? null, revision: opened?.revision ?? 1, text, at: null });
  const { id } = saved;
  const read = useRead('viewCampaign', { params: { campaign_identifier: id ?? '' } }, { isWanted: id !== null });
  const stored = [read.data, opened].find((each) => each?.identifier === id) ?? null;
  const [isBusy, setBusy] = useState(false);
  const [refusedText, setRefusedText] = useState('');

  const isDirty = text !== saved.text;
  // The page chooses the only app by itself.
  const isUnsaved = isDirty && (id !== null || JSON.stringify({ ...draft, app_id: '' }) !== saved.text);
  const isNewer = !isBusy && stored !== null && stored.revision > saved.revision;
  const isConflict = update.error?.http === 409 || (isNewer && isDirty);
  const isReady = isDirty && isComplete && !isBusy && !isConflict && text !== refusedText;

  const take = (theirs: CampaignDetails): void => {
    const next = draftOf(theirs);
    put({ id: theirs.identifier, revision: theirs.revision, text: JSON.stringify(next), at: null });
    setDraft(next);
  };
  useEffect(() => {
    // Without changes of this page there is nothing to keep.
    if (isNewer && !isDirty && isDraft(stored)) take(stored);
  }, [isNewer, isDirty]);

  const sendNow = async (): Promise<void> => {
    const { id: known, revision } = put.now();
    setBusy(true);
    try {
      if (known === null) {
        const { campaign_id: made } = await create.mutateAsync({ body: bodyOf(draft) });
        put({ id: made, revision: 1, text, at: new Date() });
        onCreated?.(made);
      } else {
        const body = { ...bodyOf(draft), revision };
        const changed = await update.mutateAsync({ params: { campaign_identifier: known }, body });
        put({ id: known, revision: changed.revision, text, at: new Date() });
      }
    } catch (error) {
      setRefusedText(text);
      if (error instanceof Refusal && error.http === 409) await read.refetch();
    } finally {
      setBusy(false);
    }
  };
  const underWay = useRef(Promise.resolve());
  const send = (): Promise<void> => (underWay.current = sendNow());
  useEffect(() => {
    if (!isReady) return;
    const timer = setTimeout(() => void send(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isReady]);

  const canSave = isComplete && !isConflict && text !== refusedText;
  const leaving = useLeaving(isUnsaved, async () => {
    await underWay.current;
    if (put.now().text !== text && canSave) await send();
    return put.now().text === text;
  });

  return {
    id,
    stored,
    state: isBusy || isReady ? 'saving' : isDirty || id === null ? 'unsaved' : 'saved',
    at: saved.at,
    refusal: create.error ?? update.error,
    isConflict,
    before: JSON.parse(saved.text) as Draft,
    isUnsaved,
    leaving,
    retry: () => setRefusedText(''),
    settle(keeps) {
      // Until the other version is there, nothing is saved over it.
      void read.refetch().then(({ data }) => {
        if (!data) return;
        update.reset();
        setRefusedText('');
        if (keeps === 'theirs') take(data);
        else put({ id: isDraft(data) ? data.identifier : null, revision: data.revision, text: '{}', at: null });
      });
    },
  };
}

/** State whose newest value is also there before the page is drawn with it, by `now`. */
function useSaved(first: Saved): [Saved, ((next: Saved) => void) & { now: () => Saved }] {
  const [saved, setSaved] = useState(first);
  const newest = useRef(saved);
  const put = (next: Saved): void => {
    newest.current = next;
    setSaved(next);
  };
  return [saved, Object.assign(put, { now: () => newest.current })];
}

/** Saves what waits before another page comes, and asks before what can't be saved is lost; so does the browser. */
function useLeaving(isUnsaved: boolean, save: () => Promise<boolean>): Autosave['leaving'] {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: async ({ current, next }) => isUnsaved && current.pathname !== next.pathname && !(await save()),
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  return status === 'blocked' ? { stay: reset, leave: proceed } : null;
}

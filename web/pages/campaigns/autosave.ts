/** Saves a draft by itself while it is edited: one call at a time, none with what the server would refuse. */
import { useEffect, useRef, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import type { Refusal } from '../../session/api.ts';
import { useAction, useRead } from '../../session/calls.ts';
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
  /** Somebody else changed the campaign: saving rests until the person chooses. */
  isConflict: boolean;
  /** Tries again what was refused. */
  retry: () => void;
  /** Goes on from what the server has: takes it over, or replaces it by this draft. */
  settle: (keeps: 'theirs' | 'mine') => void;
};

export function useAutosave(
  draft: Draft,
  setDraft: (draft: Draft) => void,
  {
    opened,
    isComplete,
    onCreated,
  }: { opened: CampaignDetails | null; isComplete: boolean; onCreated?: (id: string) => void },
): Autosave {
  const changes = ['viewCampaign', 'listCampaigns'] as const;
  const create = useAction('createCampaign', { changes });
  const update = useAction('updateCampaign', { changes });
  const [id, setId] = useState(opened?.identifier ?? null);
  const read = useRead('viewCampaign', { params: { campaign_identifier: id ?? '' } }, { isWanted: id !== null });
  const stored = id === null ? null : (read.data ?? opened);
  const [base, setBase] = useState(opened);
  const text = JSON.stringify(draft);
  const [saved, setSaved] = useState(() => ({ text: opened ? text : '', at: null as Date | null }));
  const [refusedText, setRefusedText] = useState('');
  // A draft that this page has made has no other author before its first reading.
  if (base === null && stored !== null) setBase(stored);

  const isBusy = create.isPending || update.isPending || (id !== null && base === null);
  const refusal = create.error ?? update.error;
  const isNewer = stored !== null && base !== null && !isBusy && stored.revision !== base.revision;
  const isConflict = update.error?.http === 409 || isNewer;
  const isDirty = text !== saved.text && (id !== null || isComplete || saved.text !== '');

  const done = (result?: CampaignDetails): void => {
    setSaved({ text, at: new Date() });
    if (result) setBase(result);
  };
  const send = (): void => {
    const onError = (): void => setRefusedText(text);
    if (id === null) {
      const onSuccess = ({ campaign_id: made }: { campaign_id: string }): void => {
        setId(made);
        done();
        onCreated?.(made);
      };
      create.mutate({ body: bodyOf(draft) }, { onSuccess, onError });
      return;
    }
    const body = { ...bodyOf(draft), revision: base!.revision };
    update.mutate({ params: { campaign_identifier: id }, body }, { onSuccess: done, onError });
  };
  const isReady = isDirty && isComplete && !isBusy && !isConflict && text !== refusedText;
  useEffect(() => {
    if (!isReady) return;
    const timer = setTimeout(send, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isReady]);
  const [first] = useState(text);
  useLeaving(text !== saved.text && text !== first, isReady ? send : () => {});

  return {
    id,
    stored,
    state: create.isPending || update.isPending || isReady ? 'saving' : isDirty || id === null ? 'unsaved' : 'saved',
    at: saved.at,
    refusal,
    isConflict,
    retry: () => setRefusedText(''),
    settle(keeps) {
      // Until the other version is there, nothing is saved over it.
      void read.refetch().then(({ data }) => {
        if (!data) return;
        update.reset();
        setRefusedText('');
        setBase(data);
        const theirs = draftOf(data);
        setSaved({ text: keeps === 'mine' ? '' : JSON.stringify(theirs), at: null });
        if (keeps === 'theirs') setDraft(theirs);
      });
    },
  };
}

/** Sends what waits when another page of the console comes, and asks before the browser leaves with unsaved changes. */
function useLeaving(isDirty: boolean, send: () => void): void {
  const last = useRef(send);
  last.current = send;
  useEffect(() => () => last.current(), []);
  useEffect(() => {
    if (!isDirty) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isDirty]);
}

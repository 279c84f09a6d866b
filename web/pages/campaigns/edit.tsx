/** State that the parts of the editor share: the draft, the variant and channel that show, the errors of fields. */
import { createContext, useContext } from 'react';
import type { Draft, DraftParams } from './draft.ts';
import type { Channel } from './fields.ts';

export type Edit = {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  /** Null: the message that all share. */
  variant: number | null;
  setVariant: (variant: number | null) => void;
  channel: Channel;
  setChannel: (channel: Channel) => void;
  /** The address of the picture as it was when its field was left: each is fetched by the server. */
  picture: string | null;
  setPicture: (address: string) => void;
  /** Returns what is wrong with a field that the person has filled in; what is missing stands in the list. */
  errorAt: (field: string) => string | undefined;
};

const Context = createContext<Edit | null>(null);
export const EditProvider = Context.Provider;

export function useEdit(): Edit {
  const edit = useContext(Context);
  if (!edit) throw new Error('a part of the editor is used outside of it');
  return edit;
}

type ParamField<T> = {
  /** Undefined: the variant has what all share. */
  value: T | undefined;
  /** Undefined: this is what all share. */
  shared: T | undefined;
  name: string;
  set: (value: T | undefined) => void;
};

/** Returns a param of the message that is shown: the shared one, or a variant's own. */
export function paramField<K extends keyof DraftParams>(
  { draft, change, variant }: Edit,
  param: K,
): ParamField<DraftParams[K]> {
  const { params, variants } = draft;
  if (variant === null) {
    const set = (value: DraftParams[K] | undefined): void => change({ params: { ...params, [param]: value } });
    return { value: params[param], shared: undefined, name: `params.${param}`, set };
  }
  const own = variants[variant]!.params;
  const set = (value: DraftParams[K] | undefined): void => {
    const next = { ...own, [param]: value };
    if (value === undefined || value === '') delete next[param];
    change({ variants: variants.map((each, at) => (at === variant ? { ...each, params: next } : each)) });
  };
  return { value: own[param], shared: params[param], name: `variants.${variant}.params.${param}`, set };
}

/** Names that filters compare with: events of apps, attributes, segments, funnels, campaigns, as far as rights go. */
import type { ReactNode } from 'react';
import type { SorAttribute } from '../../../api/client.ts';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import type { NameOf } from './filter-words.ts';

export type Named = { identifier: string; name: string };
export type Sor = Named & { attributes: readonly SorAttribute[] };

/** Null: the person lacks the right to the list, and types the name. */
export type Names = {
  sors: readonly Sor[] | null;
  segments: readonly Named[] | null;
  funnels: readonly (Named & { steps: readonly string[] })[] | null;
  campaigns: readonly Named[] | null;
  apps: readonly Named[] | null;
};

export type ErrorAt = (path: string) => string | undefined;

/** Names and actions that the lines and groups of a builder share. */
export type Builder = {
  appId: string;
  names: Names;
  errorAt: ErrorAt;
  noteAt: (path: string) => ReactNode;
  isFull: boolean;
};

const EVENTS = '1000';

/** Returns the names, empty until they are read. */
export function useNames(): Names & { nameOf: NameOf } {
  const { may } = useSession();
  const isWanted = {
    sors: may('listSystemsOfRecords'),
    segments: may('listSegments'),
    funnels: may('listFunnels'),
    campaigns: may('listCampaigns'),
    apps: may('listApps'),
  };
  const sors = useRead('listSystemsOfRecords', { query: { secrets: false } }, { isWanted: isWanted.sors });
  const segments = useRead('listSegments', { query: {} }, { isWanted: isWanted.segments });
  const funnels = useRead('listFunnels', { query: {} }, { isWanted: isWanted.funnels });
  const campaigns = useRead('listCampaigns', { query: {} }, { isWanted: isWanted.campaigns });
  const apps = useRead('listApps', { query: { secrets: false } }, { isWanted: isWanted.apps });
  const names: Names = {
    sors: isWanted.sors ? (sors.data ?? []).map((sor) => ({ ...sor, attributes: sor.customer_attributes })) : null,
    segments: isWanted.segments ? (segments.data ?? []) : null,
    funnels: isWanted.funnels
      ? (funnels.data ?? []).map(({ identifier, name, steps }) => ({
          identifier,
          name,
          steps: steps.map(({ match_name: [event] }) => event!.log_name),
        }))
      : null,
    campaigns: isWanted.campaigns
      ? (campaigns.data?.result ?? []).map((one) => ({ identifier: one.identifier, name: one.name }))
      : null,
    apps: isWanted.apps ? (apps.data?.apps ?? []) : null,
  };
  const all = [names.segments, names.funnels, names.campaigns, names.apps].flatMap((list) => list ?? []);
  return { ...names, nameOf: (id) => all.find(({ identifier }) => identifier === id)?.name ?? id };
}

/** Returns the names of an app's events, sorted; null without the right to them. */
export function useEventNames(app: string): readonly string[] | null {
  const isWanted = useSession().may('listEventDefinitions');
  const input = { params: { app_identifier: app }, query: { per_page: EVENTS } };
  const read = useRead('listEventDefinitions', input, { isWanted: isWanted && app !== '' });
  return isWanted
    ? [...new Set((read.data?.items ?? []).map(({ name }) => name))].toSorted((one, other) => one.localeCompare(other))
    : null;
}

/** A funnel as the builder holds it, until it is stored. */
import type { CountedFunnel, Step } from './words.ts';

export type AppName = { identifier: string; name: string };

/** `key` stays with a step that moves. */
export type StepDraft = Step & { key: string };

export type Draft = {
  name: string;
  description: string;
  maxDuration: number;
  labels: string[];
  steps: StepDraft[];
};

export type DraftName = Step['match_name'][number];

export function emptyStep(app: string): StepDraft {
  return { key: crypto.randomUUID(), match_name: [emptyName(app)], match_details: [] };
}

/** Errors, events and background transitions can have one name: any of them. */
export const ANY_TYPE = 0;

export const emptyName = (app: string): DraftName => ({ app_id: app, log_type: ANY_TYPE, log_name: '' });

/** Returns the funnel of a draft, whose names of properties are there. */
export function funnelOf({ maxDuration, steps }: Draft): CountedFunnel {
  return {
    max_duration: maxDuration,
    steps: steps.map(({ key: _key, ...step }) => ({
      ...step,
      match_details: step.match_details.filter((pairs) => pairs[''] !== ''),
    })),
  };
}

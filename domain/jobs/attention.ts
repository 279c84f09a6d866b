import type { JobKind } from './job.ts';

export const ATTENTION_KINDS = [
  'internal_error',
  'overdue',
  'failed',
  'stalled',
  'paused',
  'waiting_for_approval',
  'missing_windows',
  'open_rows',
  'provider_refuses',
  'unknown_outcome',
] as const;
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

export const ATTENTION_OBJECTS = [
  'app',
  'campaign',
  'exporter',
  'feed',
  'file',
  'import',
  'mail',
  'privacy_request',
  'reports',
  'request',
  'segment',
  'segments',
  'send',
  'sync',
  'upkeep',
] as const;
export type AttentionObject = (typeof ATTENTION_OBJECTS)[number];

/** Work of an internal error: a kind of job, a flow that is no job, or a request of the HTTP server. */
export type InternalErrorKind = JobKind | 'feed' | 'segments' | 'reports' | 'upkeep' | 'request';

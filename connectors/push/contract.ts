/**
 * The contract of push providers: a value with its platforms, its settings, and how it sends. `docs/push-providers.md`
 * shows providers to users, `catalog.ts` lists them, and each one with a network passes the suite in
 * `test/connectors/push/contract.ts`.
 */

import type { z } from 'zod';
import type { PushMessage, PushOutcome, PushPlatform, PushTarget } from '../../domain/sends/push.ts';
import type { Lookup } from '../core/address-guard.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import type { PushServices } from '../web-push/push-services.ts';

/** Settings as those of a connector: secret members are made by `secret`, harmless ones by `harmless`. */
export type PushProvider<Settings> = {
  /** The name in the API and in the store. */
  name: string;
  title: string;
  platforms: readonly PushPlatform[];
  settings: z.ZodType<Settings>;
  /** Connects with the first message. */
  open(settings: Settings, context: PushContext): OpenPushProvider;
};

/** A provider of any settings; `open` gets settings that its own schema has parsed. */
export type AnyPushProvider = PushProvider<unknown>;

/** Sends many messages; keep it open while there are any. */
export type OpenPushProvider = {
  /**
   * Makes one attempt. Waits while the provider takes no more at once, which bounds callers that wait for it. Throws
   * only internal errors.
   */
  send(target: PushTarget, message: PushMessage): Promise<PushOutcome>;
  /**
   * Does the same for a provider that reaches nothing outside: its outcome is known at once, so no attempt is ever
   * under way.
   */
  settle?(target: PushTarget, message: PushMessage): PushOutcome;
  /** Returns the route of pushes to a target; undefined if the provider reaches nothing outside. */
  routeOf?(target: PushTarget): PushRoute;
  /** Returns the errors that show without a device. Sends nothing to any device. */
  check(): Promise<PushFinding[]>;
  /** Waits for attempts under way, and closes. */
  close(): Promise<void>;
};

/** A route of a provider. `streams` returns how many pushes its open connections take at once. */
export type PushRoute = { key: string; streams(): number };

/** `field`: the wire name of the setting to be changed. */
export type PushFinding = { severity: 'error' | 'warning'; field: string; message: string };

/** Facts of an app beside the settings of its provider. */
export type PushApp = {
  packageName: string;
  /** The current push certificate. */
  certificate: { x509Pem: string; pkeyPem: string } | null;
};

export type PushContext = {
  app: PushApp;
  platform: PushPlatform;
  /** Allowed addresses beyond public ones. */
  allow: FetchAllow;
  /** Allowed push services of browsers; undefined: the known ones. */
  pushServices?: PushServices | undefined;
  now(): number;
  /** Replaces the system's resolver in tests. */
  lookup?: Lookup;
  limits?: Partial<PushLimits>;
};

export type PushLimits = {
  /** Time to connect, with look-up and TLS. */
  connectMs: number;
  /** Maximum wait of a request until it leaves: then it was not sent. */
  waitMs: number;
  /** Maximum time from sending a request to the end of its answer. */
  answerMs: number;
  /** Time without requests after which a connection ends, since an idle one may be lost unnoticed. */
  idleMs: number;
  /** Maximum number of connections to an address. */
  connections: number;
  /** Maximum number of requests at once on a connection, if the other side allows more. */
  streams: number;
};

export const PUSH_LIMITS: PushLimits = {
  connectMs: 10_000,
  waitMs: 20_000,
  answerMs: 30_000,
  idleMs: 30_000,
  connections: 4,
  streams: 500,
};

/** Infers the settings' type from their schema. */
export function pushProvider<S extends z.ZodObject>(
  value: Omit<PushProvider<z.output<S>>, 'settings'> & { settings: S },
): AnyPushProvider {
  return value as unknown as AnyPushProvider;
}

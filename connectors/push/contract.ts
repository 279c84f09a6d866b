import type { z } from 'zod';
import type { PushMessage, PushOutcome, PushPlatform, PushTarget } from '../../domain/sends/push.ts';
import type { Lookup } from '../core/address-guard.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import type { PushServices } from '../web-push/push-services.ts';

/**
 * What every push provider is: a value that says for which platforms it sends, by which settings, and how.
 * `docs/push-providers.md` shows them to users, `catalog.ts` lists them, and every one with a network passes the suite
 * in `test/connectors/push/contract.ts`.
 */

/** Like those of a connector: secret members are made by `secret`, harmless ones by `harmless`. */
export type PushProvider<Settings> = {
  /** In the API and in the store. */
  name: string;
  title: string;
  platforms: readonly PushPlatform[];
  settings: z.ZodType<Settings>;
  /** Connects when the first message goes out. */
  open(settings: Settings, context: PushContext): OpenPushProvider;
};

/** A provider of any settings: what is given to `open` has been parsed by its own schema. */
export type AnyPushProvider = PushProvider<unknown>;

/** Made for many messages at once: keep it open while there are any. */
export type OpenPushProvider = {
  /**
   * One attempt. It waits while the provider takes no more at once, so callers that wait for it are bounded by it. It
   * throws only where Millrace itself is wrong.
   */
  send(target: PushTarget, message: PushMessage): Promise<PushOutcome>;
  /**
   * The same of a provider that reaches nothing outside: its answer is known at once, so that no attempt is ever under
   * way.
   */
  settle?(target: PushTarget, message: PushMessage): PushOutcome;
  /** Where pushes to a target go; undefined: the provider reaches nothing outside. */
  routeOf?(target: PushTarget): PushRoute;
  /** What is wrong, as far as can be seen without a device. Sends nothing to any. */
  check(): Promise<PushFinding[]>;
  /** Waits for what is under way. */
  close(): Promise<void>;
};

/** One way out of a provider. `streams`: how many pushes it takes at once over the connections that stand now. */
export type PushRoute = { key: string; streams(): number };

/** `field`: the wire name of what has to be changed. */
export type PushFinding = { severity: 'error' | 'warning'; field: string; message: string };

/** What an app has besides the settings of its provider. */
export type PushApp = {
  packageName: string;
  /** The current push certificate. */
  certificate: { x509Pem: string; pkeyPem: string } | null;
};

export type PushContext = {
  app: PushApp;
  platform: PushPlatform;
  /** The addresses beyond public ones that may be reached. */
  allow: FetchAllow;
  /** The push services of browsers that may be reached; undefined: those that are known. */
  pushServices?: PushServices | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  /** Instead of the system's resolver, for tests. */
  lookup?: Lookup;
  limits?: Partial<PushLimits>;
};

export type PushLimits = {
  /** Until a connection stands, with look-up and TLS. */
  connectMs: number;
  /** From the moment when a request is handed in until it leaves: after that it has not been sent. */
  waitMs: number;
  /** From the moment when a request leaves to the end of its answer. */
  answerMs: number;
  /** A connection without requests ends, since one that is long idle may be gone unnoticed. */
  idleMs: number;
  /** Connections to one address. */
  connections: number;
  /** Requests at once on one of them, should the other side allow more. */
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

/** The push providers that this process sends through, one for each app. */

import { findPushProvider as findKnownProvider } from '../../connectors/push/catalog.ts';
import type { OpenPushProvider, PushContext, PushRoute } from '../../connectors/push/contract.ts';
import { PLATFORM_OF, type PushMessage, type PushOutcome, type PushTarget } from '../../domain/sends/push.ts';
import { findCurrentPushCertificate, openPrivateKey } from '../../store/apps/push-certificates.ts';
import type { Queryable } from '../../store/core/database.ts';
import {
  findPushProvider,
  type OpenedPushProvider,
  openStoredProvider,
  wholePushSettings,
} from '../../store/sends/push-providers.ts';
import type { SendingApp } from '../../store/sends/send-targets.ts';
import type { Dependencies } from '../dependencies.ts';

/** The provider of an app's pushes. */
export type SendingProvider = Pick<OpenPushProvider, 'send' | 'settle'> &
  Required<Pick<OpenPushProvider, 'routeOf'>> & { name: string };

/** Returns the target of a token; a browser's token is its subscription as JSON. */
export function targetOf({ appType }: Pick<SendingApp, 'appType'>, token: string): PushTarget {
  const platform = PLATFORM_OF[appType];
  const subscription = platform === 'web' ? readSubscription(token) : null;
  return subscription === null ? { platform, token } : { platform: 'web', subscription };
}

function readSubscription(token: string): NonNullable<PushTarget['subscription']> | null {
  try {
    const {
      endpoint,
      keys,
      p256dh = keys?.p256dh,
      auth = keys?.auth,
    } = JSON.parse(token) as Record<string, string> & {
      keys?: { p256dh?: string; auth?: string };
    };
    return [endpoint, p256dh, auth].every((member) => typeof member === 'string')
      ? { endpoint: endpoint!, p256dh: p256dh!, auth: auth! }
      : null;
  } catch {
    return null;
  }
}

type Kept = { fingerprint: string; provider: SendingProvider; open: OpenPushProvider | null };

/** Opens each app's provider once, since connections and tokens are costly and limited, and again for new settings. */
export class SendingProviders {
  readonly #deps: Pick<Dependencies, 'secrets' | 'outside'>;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: Pick<Dependencies, 'secrets' | 'outside' | 'draining'>) {
    this.#deps = deps;
    deps.draining.addEventListener('abort', () => this.#closeAll(), { once: true });
  }

  async of(db: Queryable, entityId: number, app: SendingApp): Promise<SendingProvider> {
    const platform = PLATFORM_OF[app.appType];
    const stored = await findPushProvider(db, entityId, app.id, platform);
    const certificate = await findCurrentPushCertificate(db, entityId, app.id);
    const fingerprint = JSON.stringify([platform, stored?.updatedAt, certificate?.identifier]);
    const key = `${entityId} ${app.id}`;
    const kept = this.#kept.get(key);
    if (kept?.fingerprint === fingerprint) return kept.provider;
    const { secrets, outside } = this.#deps;
    const opened = openProvider(openStoredProvider(secrets, entityId, app.id, stored), {
      platform,
      allow: outside.allow,
      pushServices: outside.pushServices,
      now: Date.now,
      app: {
        packageName: app.packageName,
        certificate: certificate && {
          x509Pem: certificate.x509Pem,
          pkeyPem: openPrivateKey(secrets, entityId, certificate),
        },
      },
    });
    this.#kept.set(key, { fingerprint, ...opened });
    // Attempts under way still wait for its answers; it closes after them.
    kept?.open?.close().catch(() => {});
    return opened.provider;
  }

  #closeAll(): void {
    for (const { open } of this.#kept.values()) open?.close().catch(() => {});
    this.#kept.clear();
  }
}

/** The route of providers that reach nothing outside. */
const NOWHERE: PushRoute = { key: '', streams: () => Number.POSITIVE_INFINITY };

function openProvider(
  stored: OpenedPushProvider,
  context: PushContext,
): { provider: SendingProvider; open: OpenPushProvider | null } {
  const known = findKnownProvider(stored.provider);
  const settings = known?.settings.safeParse(wholePushSettings(stored));
  // Settings of an earlier version: push_check says what is wrong.
  if (!known || !settings?.success) return { provider: refusing(stored.provider), open: null };
  const open = known.open(settings.data, context);
  const provider: SendingProvider = {
    name: known.name,
    send: (target, message) => open.send(target, message),
    routeOf: (target) => open.routeOf?.(target) ?? NOWHERE,
  };
  return {
    open,
    provider: open.settle ? { ...provider, settle: (target, message) => open.settle!(target, message) } : provider,
  };
}

function refusing(name: string): SendingProvider {
  const outcome: PushOutcome = {
    kind: 'refused',
    code: 'PROVIDER_SETTINGS',
    reason: `the settings of ${name} are not valid any more: POST push_check says why`,
  };
  return { name, send: async (_target: PushTarget, _message: PushMessage) => outcome, routeOf: () => NOWHERE };
}
